import {
  type CurrencyCode,
  currencyOf,
  type LimitList,
  type LimitReplacement,
  LIMITS_MAX,
  type LimitTerms,
  Refusal,
  type RefusalDetail,
  repeatedMeasures,
} from '@banking/domain';
import { bind, type BoundStatement, type Database, compositeOf, sqlStatement } from '@banking/postgres';
import type { RateSource } from '@banking/reference';
import { currencyCode } from '@banking/ledger';
import { type ActingScope, entriesOf } from '../audit/audited-call.js';
import { unratedCurrencies } from './limit-rates.js';
import { limitOf, type LimitRow, type LimitUse } from './limit-row.js';

interface ListRow {
  readonly version: bigint;
  readonly time_zone: string;
  readonly limits: readonly (LimitRow & Partial<LimitUse>)[];
}

/** A counter that is missing, or of another time zone, is made when it is needed. Until then, the books have it. */
const READ_LIMITS = sqlStatement<ListRow>(
  'read_limits',
  `select coalesce(m.version, 0) as version, w.time_zone, coalesce((
     select jsonb_agg(limit_json(l) || case when l.per = 'order' then '{}' else jsonb_build_object('endsAt', rfc3339(p.ends), 'used', coalesce(
       (select u.used from limit_use u
        where u.workspace_id = l.workspace_id and u.limit_id = l.id and u.period_start = p.starts and m.time_zone = w.time_zone),
       (select u.used from used_of_limits($1, array[l.id], p.starts, p.ends) u))::text) end order by l.id)
     from payment_limit l left join lateral limit_period(l.per, statement_timestamp(), w.time_zone) p on l.per <> 'order'
     where l.workspace_id = $1), '[]') as limits
   from workspace w left join limit_list m on m.workspace_id = $1
   where w.id = $1`,
);

/** The limits of a workspace, in the order of their creation, with what is used of them. */
export async function getLimits(database: Database, workspaceId: number): Promise<LimitList> {
  return listOf(await database.read({ workspaces: [workspaceId] }, bind(READ_LIMITS, workspaceId)));
}

function listOf(row: ListRow | undefined): LimitList {
  if (!row) throw new Error('the workspace of the scope does not exist');
  const limits = row.limits.map(({ used, endsAt, ...limit }) =>
    limitOf(limit, used === undefined || endsAt === undefined ? undefined : { used, endsAt }),
  );
  return { version: Number(row.version), timeZone: row.time_zone, limits };
}

/**
 * The places of limits whose account or user does not belong to the workspace. A row without one has none of both. With `offset 0` each is found
 * by its key, and no plan reads all accounts or users.
 */
const FIND_STRANGERS = sqlStatement<{ readonly place: number }>(
  'find_strangers_of_limits',
  `select (u.n - 1)::int as place
   from unnest($2::bigint[], $3::bigint[]) with ordinality u(account, of_user, n)
   where u.account is not null and not exists (
       select from account a where a.workspace_id = $1 and a.id = u.account and a.kind = 'customer' offset 0)
     or u.of_user is not null and not exists (
       select from workspace_role r where r.workspace_id = $1 and r.user_id = u.of_user offset 0)`,
);

const FIND_CURRENCIES = sqlStatement<{ readonly id: number }>(
  'find_currencies_of_accounts',
  `select distinct currency_id as id from account where workspace_id = $1 and kind = 'customer'`,
);

const NOTE_PAYMENTS = sqlStatement<{ readonly is_done: boolean }>(
  'note_payments',
  'select note_payments($1, $2, $3) as is_done',
);

/** How many payments one database transaction notes: few enough for the time of a statement on a slow machine. */
const NOTED_MAX = 2_000;

const REPLACE_LIMITS = sqlStatement<{ readonly is_replaced: boolean }>(
  'replace_limits',
  'select replace_limits($1, $2, $3::stored_limit[], $4::jsonb) as is_replaced',
);

/** What the shape of the request does not say. @throws Refusal `payment_limit_invalid` */
export function checkLimits({ limits }: LimitReplacement): void {
  requireValid(limits.length > LIMITS_MAX ? [fault(LIMITS_MAX, `A workspace has at most ${LIMITS_MAX} limits.`)] : []);
  requireValid([
    ...limits.flatMap((limit, place) => faultsOf(limit).map((message) => fault(place, message))),
    ...repeatedMeasures(limits).map((place) => fault(place, 'A limit of the same measure is before it in the list.')),
  ]);
}

/** @throws Refusal `payment_limit_invalid`, `version_conflict`, and `unavailable` if the signal ends what comes before the change */
export async function replaceLimits(
  database: Database,
  { signal, ...caller }: ActingScope,
  { version, limits }: LimitReplacement,
  rates: RateSource,
): Promise<LimitList> {
  const { workspaceId, actor } = caller;
  checkLimits({ version, limits });
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [strangers, currencies] = await database.pipeline(scope, [
    bind(
      FIND_STRANGERS,
      workspaceId,
      limits.map(({ accountID }) => accountID ?? null),
      limits.map(({ userID }) => userID ?? null),
    ),
    bind(FIND_CURRENCIES, workspaceId),
  ] as const);
  requireValid(strangers.map(({ place }) => fault(place, 'The workspace has no such account or user.')));
  const ofAccounts = currencies.map(({ id }) => currencyCode(id) as CurrencyCode);
  const ofLimits = new Set(limits.flatMap(({ currency }) => (currency as CurrencyCode | undefined) ?? []));
  const unrated = await unratedCurrencies(ofLimits, ofAccounts, rates);
  requireValid(
    limits.flatMap(({ currency }, place) =>
      unrated.has(currency as CurrencyCode) ? [fault(`${place}/currency`, unratedMessage(currency))] : [],
    ),
  );
  if (limits.some(({ per }) => per !== 'order')) await notePayments(database, workspaceId, version, signal);
  const audited = { operation: 'replaceLimits', resource: { type: 'limits', id: workspaceId } };
  const [[replaced], [row]] = await database.write(scope, [
    bind(REPLACE_LIMITS, workspaceId, version, limits.map(limitValue), entriesOf(caller, audited)),
    bind(READ_LIMITS, workspaceId),
  ] as const);
  if (!replaced?.is_replaced) throw new Refusal('version_conflict');
  return listOf(row);
}

/** What counters of a day or a month need to know of payments of before the first limit. The next call goes on where an aborted one ended. */
async function notePayments(
  database: Database,
  workspaceId: number,
  version: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const note = bind(NOTE_PAYMENTS, workspaceId, version, NOTED_MAX);
  while ((await database.read({ workspaces: [workspaceId] }, note))?.is_done === false) {
    if (signal?.aborted === true) throw signal.reason as Refusal;
  }
}

const DELETE_COUNTED = sqlStatement<{ deleted: number }>(
  'delete_counted_payments',
  'select delete_counted_payments($1) as deleted',
);

/** How many rows of each workspace one step deletes. */
const COUNTED_MAX = 1_000;

/** Deletes what was noted of payments that no counter covers any more. */
export const deleteCountedPayments = (): BoundStatement<{ deleted: number }> => bind(DELETE_COUNTED, COUNTED_MAX);

const limitValue = (limit: LimitTerms): string => {
  const { scope, accountID, role, userID, metric, per, value, currency } = limit;
  const currencyId = currency === undefined ? undefined : currencyOf(currency as CurrencyCode).numeric;
  return compositeOf([scope, accountID, role, userID, metric, per, value, currencyId]);
};

const unratedMessage = (currency: string | undefined) =>
  `There is no rate to ${currency} from the currency of any account, so every order would be refused. Choose another currency.`;

/** @param place of the limit in the list, and of its field if it is one */
const fault = (place: number | string, message: string): RefusalDetail => ({
  path: `/limits/${place}`,
  reason: 'payment_limit_invalid',
  message,
});

function requireValid(details: readonly RefusalDetail[]): void {
  const [first] = details;
  if (first) throw new Refusal('payment_limit_invalid', details.length === 1 ? first.message : undefined, { details });
}

/** The field that each scope needs, and the others must not have. */
const SUBJECTS = { account: 'accountID', role: 'role', person: 'userID', serviceAccount: 'userID' } as const;

/** What no single field shows. */
function faultsOf(limit: LimitTerms): string[] {
  const subject = (SUBJECTS as Readonly<Record<string, keyof LimitTerms>>)[limit.scope];
  const others = (['accountID', 'role', 'userID'] as const).filter((name) => name !== subject);
  return [
    ...(subject !== undefined && limit[subject] === undefined ? [`A limit of this scope needs ${subject}.`] : []),
    ...others.filter((name) => limit[name] !== undefined).map((name) => `A limit of this scope has no ${name}.`),
    ...(limit.metric === 'amount' && limit.currency === undefined ? ['A limit on amounts needs a currency.'] : []),
    ...(limit.metric === 'count' && limit.currency !== undefined ? ['A limit on numbers has no currency.'] : []),
    ...(limit.metric === 'count' && limit.per === 'order' ? ['A limit on numbers is per day or per month.'] : []),
  ];
}
