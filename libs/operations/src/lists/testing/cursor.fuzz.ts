import { Refusal } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { CursorSigner, type CursorScope } from '../sign-cursor.js';

/** The key of this target. A deployment has a random one. */
const KEY = Buffer.alloc(32, 'key of the fuzzer');
const signer = new CursorSigner({ read: () => Promise.resolve({ key: KEY }) } as unknown as Database);

const SCOPE: CursorScope = { list: 'list_things', workspaceId: 7, filters: { accountId: 3, type: 'payout' } };
const OTHER_SCOPES: readonly CursorScope[] = [
  { ...SCOPE, workspaceId: 8 },
  { ...SCOPE, list: 'list_others' },
  { ...SCOPE, filters: { accountId: 3 } },
];
/** The only positions that were signed, and their cursors. */
const ISSUED: Readonly<Record<string, string>> = {
  wKFYfhrULhPqwnR02avpYDIwMjYtMDEtMDFUMDA6MDA6MDBaIDkwMDcxOTkyNTQ3NDA5OTE: '2026-01-01T00:00:00Z 9007199254740991',
  '13SOT2WHAcVtWdrIOYwqLjIwMjYtMTEtMjFUMDk6MzA6MDAuMTIzNDU2WiA0Mg': '2026-11-21T09:30:00.123456Z 42',
};

/** The text of a position, or undefined for `cursor_invalid`. */
async function positionIn(scope: CursorScope, cursor: string): Promise<string | undefined> {
  try {
    const { at, id } = await signer.verify(scope, cursor);
    return `${at} ${id}`;
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'cursor_invalid') return undefined;
    throw error;
  }
}

/** A cursor is accepted only if this service signed it, and only for its own list. */
async function check(input: string): Promise<'accepted' | 'refused'> {
  for (const scope of OTHER_SCOPES) {
    if ((await positionIn(scope, input)) !== undefined) throw new Error('a cursor of another list is accepted');
  }
  const position = await positionIn(SCOPE, input);
  if (position === undefined) {
    if (Object.hasOwn(ISSUED, input)) throw new Error('an issued cursor is refused');
    return 'refused';
  }
  if (!Object.hasOwn(ISSUED, input) || ISSUED[input] !== position) throw new Error('a cursor was never issued');
  // The last character has unused bits, so other spellings have the same bytes.
  for (const last of 'ABghijklmnopqrstuvwxyz0189-_') {
    const spelling = `${input.slice(0, -1)}${last}`;
    if (spelling !== input && (await positionIn(SCOPE, spelling)) !== undefined) {
      throw new Error('another spelling of a cursor is accepted');
    }
  }
  return 'accepted';
}

export const target = {
  examples: Object.keys(ISSUED),
  tokens: ['=', '-', '_', '+', '/', 'MjAyNi0xMS0yMQ', 'AAAAAAAAAAAAAAAAAAAAAA', 'A'.repeat(200)],
  lengthMax: 16_384,
  check,
};
