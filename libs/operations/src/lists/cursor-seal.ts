import { createHmac, timingSafeEqual } from 'node:crypto';
import { Refusal } from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';

/** Where a page ended. */
export interface Position {
  /** When its last item was made, RFC 3339 with microseconds. */
  readonly at: string;
  readonly id: number;
}

/** What a cursor is good for: one list of one workspace, with the same filters. */
export interface CursorScope {
  readonly list: string;
  readonly workspaceId: number;
  readonly filters: Readonly<Record<string, unknown>>;
}

const READ_KEY = statement<{ key: Buffer }>('read_cursor_key', `select key from seal where name = 'cursor'`);
const MAC_BYTES = 16;
const CURSOR = /^[A-Za-z0-9_-]{1,200}$/;

/** Writes and opens cursors: a position and a seal over it and everything the cursor is good for. */
export class CursorSeal {
  private key: Promise<Buffer> | undefined;

  constructor(private readonly database: Database) {}

  write(scope: CursorScope, { at, id }: Position): Promise<string> {
    return this.seal(scope, `${at} ${id}`);
  }

  /** @throws Refusal `cursor_invalid` for one we did not write, or wrote for another list, workspace or filter */
  async open(scope: CursorScope, cursor: string): Promise<Position> {
    const [at = '', id = ''] = (await this.unseal(scope, cursor)).split(' ');
    return { at, id: Number(id) };
  }

  /** A cursor for a position of any other form. */
  async seal(scope: CursorScope, text: string): Promise<string> {
    const position = Buffer.from(text);
    return Buffer.concat([this.mac(await this.keyOnce(), scope, position), position]).toString('base64url');
  }

  /** @throws Refusal `cursor_invalid` as `open` does */
  async unseal(scope: CursorScope, cursor: string): Promise<string> {
    const bytes = CURSOR.test(cursor) ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0);
    const [seal, position] = [bytes.subarray(0, MAC_BYTES), bytes.subarray(MAC_BYTES)];
    const isOurs =
      seal.length === MAC_BYTES &&
      bytes.toString('base64url') === cursor &&
      timingSafeEqual(seal, this.mac(await this.keyOnce(), scope, position));
    if (!isOurs) throw new Refusal('cursor_invalid');
    return position.toString();
  }

  private mac(key: Buffer, { list, workspaceId, filters }: CursorScope, position: Buffer): Buffer {
    const names = Object.keys(filters).sort();
    const scope = JSON.stringify([list, workspaceId, names.map((name) => [name, filters[name]])]);
    return createHmac('sha256', key).update(`${scope}\n`).update(position).digest().subarray(0, MAC_BYTES);
  }

  private keyOnce(): Promise<Buffer> {
    this.key ??= this.readKey();
    this.key.catch(() => (this.key = undefined));
    return this.key;
  }

  private async readKey(): Promise<Buffer> {
    const row = await this.database.read({}, bind(READ_KEY));
    if (!row) throw new Error('the migrations drew no key for cursors');
    return row.key;
  }
}
