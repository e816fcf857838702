import * as fc from 'fast-check';
import { reasonOf } from '@banking/postgres/testing';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { CursorSigner, type CursorScope } from './sign-cursor.js';

let world: TestDatabase;
let signer: CursorSigner;

beforeAll(async () => {
  world = await emptyDatabase();
  signer = new CursorSigner(world.database);
});
afterAll(() => world.close());

const position = { at: '2026-11-21T09:30:00.123456Z', id: 42 };
const scope: CursorScope = { list: 'list_things', workspaceId: 7, filters: { accountId: 3, type: 'payout' } };

describe('a cursor', () => {
  it('contains the end of the page, for each process', async () => {
    const cursor = await signer.sign(scope, position);

    expect(await signer.verify(scope, cursor)).toEqual(position);
    expect(
      await new CursorSigner(world.database).verify({ ...scope, filters: { type: 'payout', accountId: 3 } }, cursor),
    ).toEqual(position);
  });

  it.each<[string, Partial<CursorScope>]>([
    ['another list', { list: 'list_others' }],
    ['another workspace', { workspaceId: 8 }],
    ['another value of a filter', { filters: { accountId: 4, type: 'payout' } }],
    ['a filter less', { filters: { accountId: 3 } }],
    ['a filter more', { filters: { accountId: 3, type: 'payout', direction: 'debit' } }],
    ['a number for a text', { filters: { accountId: '3', type: 'payout' } }],
  ])('is refused for %s', async (_, changed) => {
    const cursor = await signer.sign(scope, position);

    expect(await reasonOf(signer.verify({ ...scope, ...changed }, cursor))).toBe('cursor_invalid');
  });

  it('is refused if one character differs', async () => {
    const cursor = await signer.sign(scope, position);
    for (let at = 0; at < cursor.length; at += 1) {
      const forged = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`;
      expect(await reasonOf(signer.verify(scope, forged))).toBe('cursor_invalid');
    }
  });

  it('is refused with other unused bits at its end, which decode to the same bytes', async () => {
    const cursor = await signer.sign(scope, position);
    const spellings = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
      .map((last) => `${cursor.slice(0, -1)}${last}`)
      .filter((text) => Buffer.from(text, 'base64url').equals(Buffer.from(cursor, 'base64url')));

    expect(spellings).toHaveLength(16);
    for (const text of [...spellings.filter((text) => text !== cursor), `${cursor}=`]) {
      expect(await reasonOf(signer.verify(scope, text))).toBe('cursor_invalid');
    }
  });

  it('is refused if it is invented', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.base64String(), fc.stringMatching(/^[A-Za-z0-9_-]{1,90}$/)),
        async (text) => {
          expect(await reasonOf(signer.verify(scope, text))).toBe('cursor_invalid');
        },
      ),
      { examples: [['']] },
    );
  });
});
