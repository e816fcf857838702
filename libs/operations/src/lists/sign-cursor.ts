import { createHmac, timingSafeEqual } from 'node:crypto';
import { Refusal } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';

/** Where a page ended. */
export interface Position {
  /** The creation time of its last item: RFC 3339 with microseconds. */
  readonly at: string;
  readonly id: number;
}

/** What a cursor is valid for: one list of one workspace, with the same filters. */
export interface CursorScope {
  readonly list: string;
  readonly workspaceId: number;
  readonly filters: Readonly<Record<string, unknown>>;
}

/** The table `seal` stores the keys of message authentication codes. */
const READ_KEY = sqlStatement<{ key: Buffer }>('read_cursor_key', `select key from seal where name = 'cursor'`);
const MAC_BYTES = 16;
const CURSOR = /^[A-Za-z0-9_-]{1,200}$/;

/** Signs and verifies cursors. A cursor is a position and a message authentication code over the position and its scope. */
export class CursorSigner {
  private key: Promise<Buffer> | undefined;

  constructor(private readonly database: Database) {}

  sign(scope: CursorScope, { at, id }: Position): Promise<string> {
    return this.signText(scope, `${at} ${id}`);
  }

  /** @throws Refusal `cursor_invalid` if this service did not sign the cursor, or signed it for another list, workspace or filter */
  async verify(scope: CursorScope, cursor: string): Promise<Position> {
    const [at = '', id = ''] = (await this.verifyText(scope, cursor)).split(' ');
    return { at, id: Number(id) };
  }

  /** Signs a position of another form. */
  async signText(scope: CursorScope, text: string): Promise<string> {
    const position = Buffer.from(text);
    return Buffer.concat([this.mac(await this.readKeyOnce(), scope, position), position]).toString('base64url');
  }

  /** @throws Refusal `cursor_invalid` as `verify` does */
  async verifyText(scope: CursorScope, cursor: string): Promise<string> {
    const bytes = CURSOR.test(cursor) ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0);
    const [mac, position] = [bytes.subarray(0, MAC_BYTES), bytes.subarray(MAC_BYTES)];
    const isValid =
      mac.length === MAC_BYTES &&
      bytes.toString('base64url') === cursor &&
      timingSafeEqual(mac, this.mac(await this.readKeyOnce(), scope, position));
    if (!isValid) throw new Refusal('cursor_invalid');
    return position.toString();
  }

  private mac(key: Buffer, { list, workspaceId, filters }: CursorScope, position: Buffer): Buffer {
    const names = Object.keys(filters).sort();
    const scope = JSON.stringify([list, workspaceId, names.map((name) => [name, filters[name]])]);
    return createHmac('sha256', key).update(`${scope}\n`).update(position).digest().subarray(0, MAC_BYTES);
  }

  private readKeyOnce(): Promise<Buffer> {
    this.key ??= this.readKey();
    this.key.catch(() => (this.key = undefined));
    return this.key;
  }

  private async readKey(): Promise<Buffer> {
    const row = await this.database.read({}, bind(READ_KEY));
    if (!row) throw new Error('the table seal has no key for cursors');
    return row.key;
  }
}
