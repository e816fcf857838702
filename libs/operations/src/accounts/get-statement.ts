import {
  compareInstants,
  isDay,
  isInstant,
  minorUnits,
  parseInstant,
  parseTransferAmount,
  Refusal,
  toBalanceAmount,
  type MinorUnits,
  type Movement,
  type StatementAccount,
  type StatementBasis,
  type StatementPage,
  type StatementQuery,
  type WorkspaceId,
} from '@banking/domain';
import { bind } from '@banking/postgres';
import { checkedLimit } from '../lists/list-page.js';
import type { CursorScope, CursorSigner } from '../lists/sign-cursor.js';
import type { Reference } from '../reference/reference.js';
import type { Reading } from '../resources/reading.js';
import { withoutNulls } from '../resources/without-nulls.js';
import { GET_STATEMENT, movementOf, PLAN_EACH_TIME, type StatementRow } from './statement-queries.js';

/** The end of a page, and the values of the whole statement. */
interface Position {
  /** The version of the page's last movement. */
  readonly after: bigint;
  /** The highest version of the statement. Later bookings are on no page of it. */
  readonly upper: bigint;
  readonly opening: MinorUnits;
  readonly closing: MinorUnits;
  /** The balance after the page's last movement. */
  readonly balance: MinorUnits;
}

/** @throws Refusal as the port's `getStatement` states */
export async function getStatement(
  { database, reference, cursors }: Reading,
  workspaceId: WorkspaceId,
  { accountId, from, to, limit: requestedLimit, cursor }: StatementQuery,
): Promise<StatementPage> {
  const basis = basisOf(from, to);
  const limit = checkedLimit({ limit: requestedLimit });
  const scope = { list: 'get_statement', workspaceId, filters: { accountId, from, to, basis } };
  const start = cursor === undefined ? undefined : await verifyCursor(cursors, scope, cursor);

  // The value date of a movement is the day of its booking, so days are instants too.
  const period = [accountId, instantOf(from), instantOf(to)] as const;
  // One more movement shows whether there is a next page.
  const read = bind(GET_STATEMENT, workspaceId, ...period, start?.after ?? 0, start?.upper, limit + 1);
  const [, [row]] = await database.readPipeline({ workspaces: [workspaceId] }, [PLAN_EACH_TIME, read]);
  if (!row) throw new Refusal('account_not_found');

  const opening = start?.opening ?? minorUnits(BigInt(row.opening));
  const closing = start?.closing ?? minorUnits(BigInt(row.closing));
  const shown = row.movements.slice(0, limit).map(movementOf);
  const { movements, balance } = withBalances(shown, start?.balance ?? opening);
  const isLast = shown.length === row.movements.length;
  if (isLast && balance !== closing) throw new Error(`the statement of account ${accountId} does not add up`);
  const end = { after: BigInt(shown.at(-1)?.version ?? 0), upper: BigInt(row.upper), opening, closing, balance };
  return {
    from,
    to,
    basis,
    openingBalance: toBalanceAmount(opening),
    closingBalance: toBalanceAmount(closing),
    movements,
    edges: { account: await reference.compose((current) => statementAccount(current, row)) },
    ...(!isLast && { next: await signCursor(cursors, scope, end) }),
  };
}

function statementAccount(reference: Reference, row: StatementRow): StatementAccount {
  return withoutNulls<StatementAccount>({
    id: Number(row.accountId) as StatementAccount['id'],
    name: row.accountName,
    alias: row.accountAlias,
    code: row.accountCode,
    edges: { currency: reference.currency(row.currencyId) },
  });
}

/** The movements with the balance after each, and the last balance. */
function withBalances(movements: readonly ReturnType<typeof movementOf>[], before: MinorUnits) {
  let balance: bigint = before;
  const lines = movements.map(({ movement }): Movement => {
    const amount = parseTransferAmount(movement.amount);
    balance += movement.direction === 'credit' ? amount : -amount;
    return { ...movement, balanceAfter: toBalanceAmount(minorUnits(balance)) };
  });
  return { movements: lines, balance: minorUnits(balance) };
}

function signCursor(cursors: CursorSigner, scope: CursorScope, position: Position): Promise<string> {
  const { after, upper, opening, closing, balance } = position;
  return cursors.signText(scope, [after, upper, opening, closing, balance].join(' '));
}

/** @throws Refusal `cursor_invalid` if this service did not sign it, or signed it for another account or period */
async function verifyCursor(cursors: CursorSigner, scope: CursorScope, cursor: string): Promise<Position> {
  const numbers = (await cursors.verifyText(scope, cursor)).split(' ').map(BigInt);
  const [after = 0n, upper = 0n, opening = 0n, closing = 0n, balance = 0n] = numbers;
  return { after, upper, opening: minorUnits(opening), closing: minorUnits(closing), balance: minorUnits(balance) };
}

/** @throws Refusal `timestamp_invalid` with the invalid parameter */
function basisOf(from: string, to: string): StatementBasis {
  for (const [path, text] of Object.entries({ from, to })) {
    if (!isInstant(text) && !isDay(text)) {
      throw refused(path, `${path} must be RFC 3339 with an offset, or a day.`);
    }
  }
  if (isDay(from) !== isDay(to)) {
    throw refused('to', 'to must be of the same kind as from: both instants, or both days.');
  }
  if (compareInstants(parseInstant(instantOf(from)), parseInstant(instantOf(to))) > 0)
    throw refused('from', 'from must not be after to.');
  return isDay(from) ? 'valueDate' : 'booking';
}

function refused(path: string, message: string): Refusal {
  const reason = 'timestamp_invalid';
  return new Refusal(reason, message, { details: [{ path, reason, message }] });
}

/** Of a day, its beginning in UTC. */
const instantOf = (text: string): string => (isDay(text) ? `${text}T00:00:00Z` : text);
