import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import {
  fromBalanceAmount,
  minorUnits,
  type MinorUnits,
  type Movement,
  parseTransferAmount,
  Refusal,
  type Statement,
  type StatementPage,
  toDecimal,
  type WorkspaceId,
} from '@banking/domain';
import { FairSlots } from '@banking/process';
import { csvHead, csvRows, Numeral } from '../http/csv.js';
import { isResponseOver, onResponseEnd } from '../http/connections.js';

const COLUMNS = [
  'line',
  'accountCode',
  'accountAlias',
  'currency',
  'id',
  'transactionID',
  'createdAt',
  'valueDate',
  'type',
  'direction',
  'description',
  'purpose',
  'recipientName',
  'amount',
  'amountMinorUnits',
  'feeAmount',
  'feeAmountMinorUnits',
  'balance',
  'balanceMinorUnits',
  'orderID',
  'returnOf',
  'returnedBy',
] as const;

/** Other requests are handled after so many rows. */
const ROWS_PER_TURN = 100;

/** A row. A missing value is an empty cell. */
type Row = Partial<Record<(typeof COLUMNS)[number], string | number | Numeral>>;

interface PagePlace {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** A statement with an amount or currency that a table cannot show. The caller did not cause it. */
export class StatementError extends Error {
  override readonly name = 'StatementError';
}

/**
 * Writes a page of a statement as a part of a table: an opening row, a row for each movement, and a closing row.
 *
 * `amount` is signed and in whole units with the decimals of the currency. It is the opening balance in the opening row, and empty in
 * the closing row, so the column adds up to the closing balance in `balance`. Only the first page has the column names and the opening row,
 * and only the last page the closing row, so the pages one after another are the table of the whole statement.
 *
 * @throws StatementError for a currency without known decimals, or an amount outside the range of the ledger
 */
export function statementCsv(statement: Statement, page: PagePlace = { isFirst: true, isLast: true }): string {
  try {
    return tableOf(statement, page);
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    throw new StatementError(`the statement cannot be written as a table: ${cause.reason}`, { cause });
  }
}

/**
 * The table of a whole statement, in parts. A page is read when its part is wanted.
 *
 * @throws StatementError as `statementCsv` does, and if the cursors of the pages form a cycle
 */
export async function* statementTable(
  first: StatementPage,
  pageAfter: (cursor: string) => Promise<StatementPage>,
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
      yield statementCsv({ ...page, movements: page.movements.slice(at, end) }, place);
    }
    if (next === undefined) return;
    page = await pageAfter(next);
    if (page.next !== undefined && page.next === checkpoint) {
      throw new StatementError('the cursors of the statement form a cycle');
    }
    if ((number & (number - 1)) === 0) checkpoint = page.next;
  }
}

function tableOf(statement: Statement, { isFirst, isLast }: PagePlace): string {
  const { account } = statement.edges;
  const { code: currency } = account.edges.currency;
  const dated = (end: string): Row => (statement.basis === 'booking' ? { createdAt: end } : { valueDate: end });
  const amounts = <T extends 'amount' | 'feeAmount' | 'balance'>(name: T, value: MinorUnits): Row => ({
    [name]: new Numeral(toDecimal(value, currency)),
    [`${name}MinorUnits`]: new Numeral(value.toString()),
  });
  const opening = fromBalanceAmount(statement.openingBalance);
  const first: Row = {
    line: 'opening',
    ...dated(statement.from),
    ...amounts('amount', opening),
    ...amounts('balance', opening),
  };
  const last: Row = {
    line: 'closing',
    ...dated(statement.to),
    ...amounts('balance', fromBalanceAmount(statement.closingBalance)),
  };
  const rows: Row[] = [
    ...(isFirst ? [first] : []),
    ...statement.movements.map((movement) => ({
      line: 'movement',
      ...textsOf(movement),
      ...amounts('amount', signed(movement)),
      ...(movement.feeAmount !== undefined && amounts('feeAmount', parseTransferAmount(movement.feeAmount))),
      ...amounts('balance', fromBalanceAmount(movement.balanceAfter)),
    })),
    ...(isLast ? [last] : []),
  ];
  const common = { accountCode: account.code ?? '', accountAlias: account.alias ?? '', currency };
  const written = csvRows(COLUMNS, rows, common);
  return isFirst ? csvHead(COLUMNS) + written : written;
}

/** The values of a movement besides its amounts. Other fields of an upstream have no column. */
function textsOf({
  id,
  transactionID,
  createdAt,
  valueDate,
  type,
  direction,
  description,
  purpose,
  recipientName,
  orderID,
  returnOf,
  returnedBy,
}: Movement) {
  const texts = Object.entries({ description, purpose, recipientName }).filter(([, text]) => text !== undefined);
  const links = Object.entries({ orderID, returnOf, returnedBy }).filter(([, link]) => typeof link === 'number');
  const values = [...texts, ...links];
  return { id, transactionID, createdAt, valueDate, type, direction, ...(Object.fromEntries(values) as Row) };
}

/** File systems refuse longer names, and clients refuse them in a header. */
const CODE_SHOWN_MAX = 64;

/** The name of the file, in characters that every file system accepts. */
export function statementFileName({ from, to, edges: { account } }: Statement): string {
  const code = account.code?.slice(0, CODE_SHOWN_MAX) ?? account.id;
  return `statement-${code}-${from}-${to}.csv`.replaceAll(':', '').replace(/[^A-Za-z0-9.+-]/g, '_');
}

function signed({ direction, amount }: Movement): MinorUnits {
  const value = parseTransferAmount(amount);
  return direction === 'credit' ? value : minorUnits(-value);
}

export const TABLES_PER_WORKSPACE_MAX = 2;
/** Each holds two or three pages of 500 rows that its client has not read. */
export const TABLES_MAX = 16;

/** Limits the tables that are sent at the same time, because each reads a whole statement. */
@Injectable()
export class TableDownloads {
  private readonly slots = new FairSlots<WorkspaceId | undefined>(TABLES_MAX, TABLES_PER_WORKSPACE_MAX);

  /**
   * Counts a table until its response has ended, however slowly its client reads.
   *
   * @throws Refusal `rate_limited` if the workspace has too many, `unavailable` if the process has
   */
  begin(workspaceId: WorkspaceId | undefined, reply: Pick<FastifyReply, 'raw' | 'request'>): void {
    if (isResponseOver(reply)) return;
    if (this.slots.isFull) {
      throw new Refusal('unavailable', 'Too many tables are downloaded already.', { retryAfterSeconds: 1 });
    }
    if (!this.slots.mayTake(workspaceId)) {
      const message = 'The workspace downloads other tables already. Read them to the end first.';
      throw new Refusal('rate_limited', message, { retryAfterSeconds: 1 });
    }
    this.slots.take(workspaceId);
    onResponseEnd(reply, () => this.slots.release(workspaceId));
  }
}
