import {
  compareInstants,
  isDay,
  isInstant,
  minorUnits,
  type MinorUnits,
  type Movement,
  parseInstant,
  parseTransferAmount,
  Refusal,
  type StatementAccount,
  type StatementBasis,
  type StatementPage,
  type StatementQuery,
  toBalanceAmount,
  type WorkspaceId,
} from '@banking/domain';
import { bind, lookup, sqlStatement } from '@banking/postgres';
import { checkedLimit } from '../lists/list-page.js';
import type { CursorScope, CursorSigner } from '../lists/sign-cursor.js';
import type { Reference } from '../reference/reference.js';
import {
  column,
  type Columns,
  digits,
  digitsOrNull,
  packed,
  sqlOf,
  timestampOf,
  unpacking,
  withoutNulls,
} from '../resources/columns.js';
import { orderIdOf, returnedByOf } from '../resources/compose-transaction.js';
import type { Reading } from '../resources/reading.js';

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

/** A page of a statement. Numbers that may exceed a JSON integer are strings of digits. */
interface StatementRow {
  readonly accountId: bigint;
  readonly accountName: string;
  readonly accountAlias: string | null;
  readonly accountCode: string;
  readonly currencyId: number;
  readonly opening: string;
  readonly closing: string;
  /** The highest version of the account in the statement. */
  readonly upper: string;
  /** Packed rows for `movementOf`. */
  readonly movements: readonly (readonly unknown[])[];
}

/** A movement without the balance after it. */
type BareMovement = Omit<Movement, 'balanceAfter'>;

const TRANSACTION_OF_MOVEMENT = { workspaceId: 'm.workspace_id', id: 'm.transaction_id' };

/** A transfer `m` with its transaction `b` and its recipient `r`. */
const MOVEMENT_COLUMNS = {
  id: column<number>('id'),
  transactionId: column<number>('transaction_id'),
  orderId: sqlOf<number | null>(() => orderIdOf(TRANSACTION_OF_MOVEMENT)),
  returnOf: sqlOf<number | null>(() => 'b.return_of'),
  returnedBy: sqlOf<number | null>(() => returnedByOf(TRANSACTION_OF_MOVEMENT)),
  direction: column<Movement['direction']>('direction'),
  amount: digits('amount'),
  type: column<string>('type'),
  description: column<string | null>('description'),
  purpose: column<string | null>('purpose'),
  feeAmount: digitsOrNull('fee_amount'),
  recipientName: sqlOf<string | null>(() => 'r.name'),
  valueDate: sqlOf<string>(() => `(m.created_at at time zone 'UTC')::date`),
  createdAt: column<string>('created_at'),
  version: column<number>('account_version'),
} satisfies Columns;

const MOVEMENT = packed(MOVEMENT_COLUMNS, 'm');
const unpackMovement = unpacking(MOVEMENT_COLUMNS);

const ACCOUNT = `t.id as "accountId", t.name as "accountName", t.alias as "accountAlias", t.code as "accountCode",
     t.currency_id as "currencyId"`;

/** A movement of a packed row, and the version that it gave the account. */
function movementOf(values: readonly unknown[]): { readonly movement: BareMovement; readonly version: number } {
  const row = unpackMovement(values);
  const movement = withoutNulls<BareMovement>({
    id: row.id as Movement['id'],
    transactionID: row.transactionId as Movement['transactionID'],
    orderID: row.orderId as Movement['orderID'] & number,
    returnOf: row.returnOf as Movement['returnOf'] & number,
    returnedBy: row.returnedBy as Movement['returnedBy'] & number,
    direction: row.direction,
    amount: row.amount as Movement['amount'],
    type: row.type,
    description: row.description,
    purpose: row.purpose,
    feeAmount: row.feeAmount as Movement['amount'] | null,
    recipientName: row.recipientName,
    valueDate: row.valueDate,
    createdAt: timestampOf(row.createdAt),
  });
  return { movement, version: row.version };
}

const TRANSACTION = `cross join ${lookup(`select b.return_of from transaction b
     where b.workspace_id = m.workspace_id and b.id = m.transaction_id`)} b`;

const RECIPIENT = `left join ${lookup(`select r.name from recipient r
     where r.workspace_id = m.workspace_id and r.id = m.recipient_id`)} r on true`;

/** The condition of the index of an account's transfers by type, direction and time. */
const OF_ACCOUNT = 'l.workspace_id = $1 and l.account_id = $2 and l.balance_after is not null';

/** The types and directions of the account's transfers. Each step searches the index for the next ones. */
const CLASSES = `class as (
    (select l.type, l.direction from transfer l where ${OF_ACCOUNT} order by l.type, l.direction limit 1)
    union all
    select n.* from class c cross join lateral (
      select l.type, l.direction from transfer l where ${OF_ACCOUNT} and (l.type, l.direction) > (c.type, c.direction)
      order by l.type, l.direction limit 1) n)`;

/**
 * The version and the balance of the last transfer before an instant, 0 before the first. The latest time of each type and direction is
 * read from the index of lists. Many transfers have the same time, if they were posted together.
 */
const bookedBefore = (instant: string) =>
  `cross join lateral (
     select coalesce(max(b.account_version), 0) as version, coalesce(max(b.balance_after), 0) as balance
     from (select max(l.account_version) as version
           from (select max(l.created_at) as created_at
                 from class c cross join lateral (
                   select l.created_at from transfer l
                   where ${OF_ACCOUNT} and l.type = c.type and l.direction = c.direction and l.created_at < ${instant}::timestamptz
                   order by l.created_at desc, l.id desc limit 1) l) latest
             cross join class c
             cross join lateral (
               select l.account_version from transfer l
               where ${OF_ACCOUNT} and l.type = c.type and l.direction = c.direction and l.created_at = latest.created_at
               order by l.id desc) l) m
       cross join lateral (
         select l.account_version, l.balance_after from transfer l
         where l.workspace_id = $1 and l.account_id = $2 and l.account_version <= m.version
         order by l.account_version desc limit 1) b)`;

/**
 * Opening balance, movements and closing balance of one snapshot. Parameters: the workspace, the account, the period (2 instants), the
 * version before the page (0 for the first page), the highest version of the statement (null for the first page), the number of movements
 * to read.
 *
 * By the versions of the account. They have no gap, so no movement between two balances is missing. Their times never run backwards,
 * which the books ensure, so a period ends where the next one begins.
 */
export const GET_STATEMENT = sqlStatement<StatementRow>(
  'get_statement',
  `with recursive ${CLASSES}
   select ${ACCOUNT}, o.balance::text as opening, u.version::text as upper,
     e.balance::text as closing,
     (select coalesce(json_agg(${MOVEMENT} order by m.account_version), '[]')
      from (select * from transfer
            where workspace_id = $1 and account_id = $2 and account_version > u.after and account_version <= u.version
            order by account_version limit $7) m ${TRANSACTION} ${RECIPIENT}) as movements
   from account t ${bookedBefore('$3')} o ${bookedBefore('$4')} e
   cross join ${lookup('select greatest(o.version, $5::bigint) as after, coalesce($6::bigint, e.version) as version')} u
   where t.workspace_id = $1 and t.id = $2 and t.kind = 'customer'`,
);

/**
 * Planner settings for the query. A connection keeps a plan that it made while the tables were small, and that plan may use an index
 * on the workspace only. It reads much and is rare, so it is planned each time. Without sorting, the planner chooses the index in the
 * order of the query also if the tables have no statistics.
 */
export const PLAN_EACH_TIME = bind(
  sqlStatement(
    'get_statement.plan_each_time',
    `select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'off', true)`,
  ),
);
