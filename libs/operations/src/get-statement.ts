import { isDay, isInstant, minorUnits, parseTransferAmount, Refusal, toBalanceAmount, type Movement, type Statement, type StatementAccount, type StatementBasis, type StatementQuery, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { bind, statement, type Database } from '@banking/postgres';
import { currencyJson, resource } from './edges.js';
import { compareInstants, readInstant } from './orders/instant.js';

/** More is refused, never cut down: a statement that ends early would not add up. */
const MOVEMENTS_MAX = 10_000;

interface Row {
  readonly account: StatementAccount;
  /** In digits: by value date a sum, which may be longer than a bigint. */
  readonly opening: string;
  readonly closing: string;
  readonly movements: readonly Omit<Movement, 'balanceAfter'>[];
}

const ACCOUNT = resource(
  `json_build_object('id', t.id, 'name', t.name, 'alias', t.alias, 'code', t.code,
     'edges', json_build_object('currency', ${currencyJson('c')}))`,
);

/** A transfer `m` with its value date and the name of its recipient. */
const MOVEMENT = resource(
  `json_build_object('id', m.id, 'transactionID', m.transaction_id, 'direction', m.direction, 'amount', m.amount::text,
     'type', m.type, 'description', m.description, 'purpose', m.purpose, 'feeAmount', m.fee_amount::text,
     'recipientName', r.name, 'valueDate', x.value_date, 'createdAt', rfc3339(m.created_at))`,
);

// `offset 0` keeps these row by row, each by its whole key: without statistics of the tables the planner may join them the other
// way round, and the time would grow with the square of the movements.
const valueDateOf = (transfer: string) =>
  `cross join lateral (select x.value_date from transaction x
     where x.workspace_id = ${transfer}.workspace_id and x.id = ${transfer}.transaction_id offset 0) x`;
const RECIPIENT = `left join lateral (select r.name from recipient r
     where r.workspace_id = m.workspace_id and r.id = m.recipient_id offset 0) r on true`;

/**
 * How far the account had come before an instant: version and balance of its last transfer, zero before the first. Made whole here,
 * since behind a policy no index serves a condition with a `coalesce` in it.
 */
const before = (instant: string) =>
  `cross join lateral (select coalesce(max(b.account_version), 0) as version, coalesce(max(b.balance_after), 0) as balance
     from (select account_version, balance_after from transfer
           where workspace_id = $1 and account_id = $2 and account_version is not null and created_at < ${instant}::timestamptz
           order by created_at desc, account_version desc limit 1) b)`;

// Opening, movements and closing are read by one statement, so from one snapshot: what is booked meanwhile is in all of them or in none.

/**
 * By the versions of the account, which have no gap, so that what lies between two balances is all there is between them. A clock that
 * was set back while it was booked cannot make the period end before it begins.
 */
const BY_BOOKING = statement<Row>(
  'get_statement.booking',
  `select ${ACCOUNT} as account, o.balance::text as opening,
     case when e.version > o.version then e.balance else o.balance end::text as closing,
     (select coalesce(json_agg(${MOVEMENT} order by m.account_version), '[]')
      from (select * from transfer
            where workspace_id = $1 and account_id = $2 and account_version > o.version and account_version <= e.version
            order by account_version limit $5) m ${valueDateOf('m')} ${RECIPIENT}) as movements
   from account t join currency c on c.id = t.currency_id ${before('$3')} o ${before('$4')} e
   where t.workspace_id = $1 and t.id = $2 and t.kind = 'customer'`,
);

/**
 * By the day it counts, then by version. That order is nowhere stored, so every transfer of the account is looked at, once; those of the
 * period are carried along whole.
 */
const BY_VALUE_DATE = statement<Row>(
  'get_statement.value_date',
  `with line as materialized (
     select b.account_version, x.value_date, case b.direction when 'credit' then b.amount else -b.amount end as moved,
            case when x.value_date >= $3::date then b end as transfer
     from transfer b ${valueDateOf('b')}
     where b.workspace_id = $1 and b.account_id = $2 and b.account_version is not null and x.value_date < $4::date)
   select ${ACCOUNT} as account,
     (select coalesce(sum(moved), 0) from line where value_date < $3::date)::text as opening,
     (select coalesce(sum(moved), 0) from line)::text as closing,
     (select coalesce(json_agg(${MOVEMENT} order by x.value_date, x.account_version), '[]')
      from (select * from line where value_date >= $3::date limit $5) x
      cross join lateral (select (x.transfer).*) m ${RECIPIENT}) as movements
   from account t join currency c on c.id = t.currency_id
   where t.workspace_id = $1 and t.id = $2 and t.kind = 'customer'`,
);

/**
 * A plan that a connection made while the tables were small may use an index that knows no more than the workspace, and it is kept.
 * These read much and come seldom, so they are planned each time, by the size the tables have.
 */
const PLAN_ANEW = bind(
  statement('get_statement.plan_anew', `select set_config('plan_cache_mode', 'force_custom_plan', true)`),
);

const STATEMENTS = { booking: BY_BOOKING, valueDate: BY_VALUE_DATE } as const;

/** @throws Refusal as the port's `getStatement` says */
export async function getStatement(
  database: Database,
  workspaceId: WorkspaceId,
  { accountId, from, to }: StatementQuery,
): Promise<Statement> {
  const basis = basisOf(from, to);
  const read = bind(STATEMENTS[basis], workspaceId, accountId, from, to, MOVEMENTS_MAX + 1);
  const [, [row]] = await database.flight({ workspaces: [workspaceId] }, [PLAN_ANEW, read]);
  if (!row) throw new Refusal('account_not_found');
  if (row.movements.length > MOVEMENTS_MAX) throw new Refusal('statement_too_long');

  const opening = minorUnits(BigInt(row.opening));
  const { movements, closing } = withBalances(row.movements, opening);
  if (closing !== BigInt(row.closing)) throw new Error(`the statement of account ${accountId} does not add up`);
  return {
    from,
    to,
    basis,
    openingBalance: toBalanceAmount(opening),
    closingBalance: toBalanceAmount(closing),
    movements,
    edges: { account: row.account },
  };
}

/** Each movement with the balance behind it, and the last of these. */
function withBalances(movements: Row['movements'], opening: bigint) {
  let balance = opening;
  const lines = movements.map((movement): Movement => {
    const amount = parseTransferAmount(movement.amount);
    balance += movement.direction === 'credit' ? amount : -amount;
    return { ...movement, balanceAfter: toBalanceAmount(minorUnits(balance)) };
  });
  return { movements: lines, closing: minorUnits(balance) };
}

/** @throws Refusal `timestamp_invalid` with the parameter at fault */
function basisOf(from: string, to: string): StatementBasis {
  for (const [path, text] of Object.entries({ from, to })) {
    if (!isInstant(text) && !isDay(text)) {
      throw refused(path, `${path} must be RFC 3339 with an offset, or a day.`);
    }
  }
  if (isDay(from) !== isDay(to)) {
    throw refused('to', 'to must be of the same kind as from: both instants, or both days.');
  }
  if (compareInstants(beginningOf(from), beginningOf(to)) > 0) throw refused('from', 'from must not be after to.');
  return isDay(from) ? 'valueDate' : 'booking';
}

function refused(path: string, message: string): Refusal {
  const reason = 'timestamp_invalid';
  return new Refusal(reason, message, { details: [{ path, reason, message }] });
}

const beginningOf = (text: string) => readInstant(isDay(text) ? `${text}T00:00:00Z` : text);
