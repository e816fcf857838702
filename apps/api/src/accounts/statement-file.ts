import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Refusal, type Statement, type StatementPage, type WorkspaceId } from '@banking/domain';
import { FairSlots } from '@banking/process';
import { isResponseOver, onResponseEnd } from '../http/connections.js';

/** Other requests are handled after so many rows. */
const ROWS_PER_TURN = 100;

/** Where a part is in the file of a whole statement. */
export interface PagePlace {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** A statement with an amount or currency that a file cannot show. The caller did not cause it. */
export class StatementError extends Error {
  override readonly name = 'StatementError';
}

/**
 * The file of a whole statement, in parts. A page is read when its part is wanted.
 *
 * @param write writes a page as a part of the file
 * @throws StatementError as `write` does, and if the cursors of the pages form a cycle
 */
export async function* statementFile(
  first: StatementPage,
  pageAfter: (cursor: string) => Promise<StatementPage>,
  write: (statement: Statement, place: PagePlace) => string,
): AsyncGenerator<string, void> {
  let page = first;
  // The cursor of page 1, 2, 4, 8 …: every cycle of an upstream reaches one of them again (R. P. Brent, 1980).
  let checkpoint = first.next;
  for (let number = 1; ; number += 1) {
    const { next } = page;
    for (let at = 0; at === 0 || at < page.movements.length; at += ROWS_PER_TURN) {
      if (at > 0) await nextTurn();
      const end = at + ROWS_PER_TURN;
      const place = { isFirst: number === 1 && at === 0, isLast: next === undefined && end >= page.movements.length };
      yield write({ ...page, movements: page.movements.slice(at, end) }, place);
    }
    if (next === undefined) return;
    page = await pageAfter(next);
    if (page.next !== undefined && page.next === checkpoint) {
      throw new StatementError('the cursors of the statement form a cycle');
    }
    if ((number & (number - 1)) === 0) checkpoint = page.next;
  }
}

/** File systems refuse longer names, and clients refuse them in a header. */
const CODE_SHOWN_MAX = 64;

/** The name of the file, in characters that every file system accepts. */
export function statementFileName({ from, to, edges: { account } }: Statement, extension: 'csv' | 'xml'): string {
  const code = account.code?.slice(0, CODE_SHOWN_MAX) ?? account.id;
  return `statement-${code}-${from}-${to}.${extension}`.replaceAll(':', '').replace(/[^A-Za-z0-9.+-]/g, '_');
}

export const DOWNLOADS_PER_WORKSPACE_MAX = 2;
/** Each holds two or three pages of 500 rows that its client has not read. */
export const DOWNLOADS_MAX = 16;

/** Limits the files that are sent at the same time, because each reads a whole statement. */
@Injectable()
export class StatementDownloads {
  private readonly slots = new FairSlots<WorkspaceId | undefined>(DOWNLOADS_MAX, DOWNLOADS_PER_WORKSPACE_MAX);

  /**
   * Counts a file until its response has ended, however slowly its client reads.
   *
   * @throws Refusal `rate_limited` if the workspace has too many, `unavailable` if the process has
   */
  begin(workspaceId: WorkspaceId | undefined, reply: Pick<FastifyReply, 'raw' | 'request'>): void {
    if (isResponseOver(reply)) return;
    if (this.slots.isFull) {
      throw new Refusal('unavailable', 'Too many statements are downloaded already.', { retryAfterSeconds: 1 });
    }
    if (!this.slots.mayTake(workspaceId)) {
      const message = 'The workspace downloads other statements already. Read them to the end first.';
      throw new Refusal('rate_limited', message, { retryAfterSeconds: 1 });
    }
    this.slots.take(workspaceId);
    onResponseEnd(reply, () => this.slots.release(workspaceId));
  }
}
