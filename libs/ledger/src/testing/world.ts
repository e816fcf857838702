import { type MinorUnits, parseAmount, type Timestamp } from '@banking/domain';
import { bind, type BoundStatement, type DatabaseOptions, OPERATOR_ROLE } from '@banking/postgres';
import { freshDatabase, type FreshDatabase, sql } from '@banking/postgres/testing';
import { type Books, openAccount, openBooks } from '../books.js';
import { post as postAs, posting, postingValues } from '../post.js';
import type { Conversion, Entry, Leg, Outcome, PostedTransaction, Proposal } from '../proposal.js';

/** Two workspaces. */
export const NORTH = 1;

export const SOUTH = 2;

export const EUR = 978;

export const USD = 840;

/**
 * What the books refer to. The reason of a return is a row of payouts, whose specs test it. The role may write any row, as the constraints
 * refuse what is wrong for every role.
 */
const SURROUNDINGS = `
  insert into currency (id, code, name, decimals) values (${EUR}, 'EUR', 'Euro', 2), (${USD}, 'USD', 'US dollar', 2);
  insert into product (id, name, currency_id) values (1, 'Current', ${EUR});
  insert into app (id, name) values (1, 'Bank');
  insert into workspace (id, app_id, name) values (${NORTH}, 1, 'North'), (${SOUTH}, 1, 'South'), (3, 1, 'West');
  insert into recipient (workspace_id, id, kind, name, account_code, currency_id)
    values (${NORTH}, 12, 'internal', 'Grace', 'G', ${EUR}), (${SOUTH}, 12, 'internal', 'Grace', 'G', ${EUR});
  alter table transaction disable trigger return_has_reason;
  alter function write_books security definer;
  grant execute on function write_books to ${OPERATOR_ROLE};
  grant insert, update (status) on transaction to ${OPERATOR_ROLE};
  grant insert on transfer to ${OPERATOR_ROLE}`;

const WRITE_BOOKS = posting('write_books');

/** Writes postings of all kinds, which the functions of the service refuse. */
export const writeAny = (posted: readonly PostedTransaction[]): BoundStatement<unknown>[] =>
  posted.length === 0 ? [] : [bind(WRITE_BOOKS, ...postingValues(posted))];

/** Posts proposals of all kinds. */
export const post = (books: Books, proposals: readonly Proposal[]): Promise<Outcome[]> =>
  postAs(books, proposals, writeAny);

/** The books of one spec, and a connection of a superuser. */
export interface World extends FreshDatabase {
  readonly books: Books;
}

export async function openWorld(options: Partial<DatabaseOptions> = {}): Promise<World> {
  const fresh = await freshDatabase(options);
  const world = { ...fresh, books: openBooks(fresh.database) };
  await plant(world, SURROUNDINGS);
  return world;
}

/** Minor units of an amount in euros. */
export const euros = (text: string): MinorUnits => parseAmount(text, 'EUR');

/** Opens a customer account with a balance. */
export async function account(
  world: World,
  holding = '0.00',
  { workspaceId = NORTH, currencyId = EUR }: { workspaceId?: number; currencyId?: number } = {},
): Promise<number> {
  const { rows } = await world.owner.query<{ id: bigint }>(`select nextval('account_id_seq') as id`);
  const id = Number(rows[0]!.id);
  const opened = openAccount({ workspaceId, id, productId: 1, currencyId, name: 'Ada', type: 'CACC', code: `A${id}` });
  await world.database.pipeline({ workspaces: [workspaceId] }, [opened]);
  if (euros(holding) > 0n) await posted(world, funding(id, euros(holding), { workspaceId, currencyId }));
  return id;
}

/** Posts proposals. @throws Error if one is refused */
export async function posted(world: World, ...proposals: readonly Proposal[]): Promise<void> {
  for (const outcome of await post(world.books, proposals)) if (!outcome.posted) throw outcome.refused;
}

/** Balance and version of a customer account, read without row-level security. */
export async function holding(world: World, accountId: number): Promise<{ balance: bigint; version: bigint }> {
  const { rows } = await world.owner.query<{ balance: bigint; version: bigint }>(
    'select balance, version from account where id = $1',
    [accountId],
  );
  return rows[0]!;
}

/** Runs SQL that the constraints forbid, as a superuser whose triggers and foreign keys are off. */
export async function plant(world: World, text: string, values: readonly unknown[] = []): Promise<void> {
  await world.owner.query('begin');
  await world.owner.query('set local session_replication_role = replica');
  await world.owner.query(text, [...values]);
  await world.owner.query('commit');
}

/** The workspace and the currency of a proposal. The default is euros in the first workspace. */
interface Place {
  readonly workspaceId?: number;
  readonly currencyId?: number;
}

/** One balanced transaction of these legs, alone in its proposal. */
export function proposal(legs: readonly Leg[], more: Partial<Entry> = {}): Proposal {
  const rail = more.status === 'pending' ? 'spec' : undefined;
  return { entries: [{ workspaceId: 1, status: 'completed', legs, rail, ...more }] };
}

/** A euro for 1.10 dollars. */
export const CENTS: Conversion = {
  ...{ digest: 'c'.repeat(64), currencyId: EUR, amount: '100', targetCurrencyId: USD, targetAmount: '110' },
  ...{
    rate: '1.1',
    rateSource: 'spec',
    rateAsOf: '2026-01-01T00:00:00Z' as Timestamp,
    rounding: 'down',
    fixedSide: 'source',
  },
  ...{ remainderNumerator: '0', remainderDenominator: '1' },
};

export function funding(to: number, amount: MinorUnits, { workspaceId = 1, currencyId = 978 }: Place = {}): Proposal {
  const leg = { currencyId, amount, type: 'funding' };
  const legs: Leg[] = [
    { ...leg, account: to, direction: 'credit' },
    { ...leg, account: 'settlement', direction: 'debit' },
  ];
  return proposal(legs, { workspaceId });
}

export function payment(from: number, to: number, amount: MinorUnits, place: Place = {}): Proposal {
  const { workspaceId = 1, currencyId = 978 } = place;
  const leg = { currencyId, amount, type: 'internal' };
  const legs: Leg[] = [
    { ...leg, account: from, direction: 'debit' },
    { ...leg, account: to, direction: 'credit' },
  ];
  return proposal(legs, { workspaceId });
}

/** A payout with its fee. */
export function payout(from: number, amount: MinorUnits, fee: MinorUnits, place: Place = {}): Proposal {
  const { workspaceId = 1, currencyId = 978 } = place;
  const details = {
    description: 'Invoice 2107',
    purpose: 'IR001',
    recipientId: 12,
    recipientDigest: 'd'.repeat(64),
    feeAmount: fee,
  };
  const legs: Leg[] = [
    { account: from, currencyId, amount, type: 'payout', direction: 'debit', ...details },
    { account: 'settlement', currencyId, amount, type: 'payout', direction: 'credit' },
    { account: from, currencyId, amount: fee, type: 'fee', direction: 'debit' },
    { account: 'fees', currencyId, amount: fee, type: 'fee', direction: 'credit' },
  ];
  return proposal(legs, { workspaceId, status: 'pending' });
}

/** A return to an account. */
export function comeback(to: number, amount: MinorUnits, { workspaceId = 1, currencyId = 978 }: Place = {}): Proposal {
  const leg = { currencyId, amount, type: 'return' };
  const legs: Leg[] = [
    { ...leg, account: to, direction: 'credit' },
    { ...leg, account: 'settlement', direction: 'debit' },
  ];
  return proposal(legs, { workspaceId });
}

/** A payment between workspaces, with an entry in the books of each. */
export function crossing(
  from: { readonly workspaceId: number; readonly account: number },
  to: { readonly workspaceId: number; readonly account: number },
  amount: MinorUnits,
  currencyId = 978,
): Proposal {
  const leg = { currencyId, amount, type: 'internal' };
  const [debit] = proposal(
    [
      { ...leg, account: from.account, direction: 'debit' },
      { ...leg, account: 'interworkspace', direction: 'credit' },
    ],
    { workspaceId: from.workspaceId },
  ).entries;
  const [credit] = proposal(
    [
      { ...leg, account: 'interworkspace', direction: 'debit' },
      { ...leg, account: to.account, direction: 'credit' },
    ],
    { workspaceId: to.workspaceId },
  ).entries;
  return { entries: [debit!, credit!] };
}

/** A transfer with any values, which no program of ours would write. */
export interface RawLeg {
  readonly account: number;
  readonly direction: 'debit' | 'credit';
  /** In cents. */
  readonly amount: number | bigint;
  readonly version?: number;
  readonly after?: number | bigint;
  readonly type?: string;
  readonly currencyId?: number;
}

/** Legs without a version are of our own, with the first of the others. */
const WRITE_RAW = `with leg as (
    select * from unnest($2::bigint[], $3::int[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[]) with ordinality
      l(account_id, currency_id, direction, amount, type, version, after, place)),
  transaction_id as materialized (select nextval('transaction_id_seq') as id),
  transfer as (
    select row($1::bigint, nextval('transfer_id_seq'), x.id, l.account_id, l.currency_id, l.direction, l.amount, l.type, null, null, null, null,
             null, l.version, l.after, case when row_number() over (order by l.place) = 1 then (
               select array_agg(row(nextval('transfer_id_seq'), o.account_id, o.currency_id, o.type,
                                    case o.direction when 'credit' then o.amount else -o.amount end)::own_leg)
               from leg o where o.version is null) end, null)::posted_transfer as written
    from leg l cross join transaction_id x where l.version is not null)
  select write_books(
    array[row($1::bigint, (select id from transaction_id), 'completed', decode(repeat('a', 64), 'hex'), null, null, null, null, null, null, null, statement_timestamp())::posted_transaction],
    (select array_agg(written) from transfer))`;

/** Writes one transaction with these transfers, without a decision. */
export function raw(legs: readonly RawLeg[], workspaceId = NORTH): BoundStatement<Record<string, unknown>> {
  return sql(
    WRITE_RAW,
    workspaceId,
    legs.map(({ account }) => account),
    legs.map(({ currencyId = EUR }) => currencyId),
    legs.map(({ direction }) => direction),
    legs.map(({ amount }) => amount),
    legs.map(({ type = 'internal' }) => type),
    legs.map(({ version }) => version),
    legs.map(({ after }) => after),
  );
}

/** For an `update transfer set` of SQL: gives the legs of our own of some types other values, of a leg `o`. */
export function otherOwnLegs(
  values: Partial<Record<'account_id' | 'currency_id' | 'type' | 'amount', string>>,
  types: readonly string[],
): string {
  const valueOf = (column: 'account_id' | 'currency_id' | 'type' | 'amount') =>
    values[column] === undefined
      ? `o.${column}`
      : `case when o.type in (${types.map((type) => `'${type}'`).join(', ')}) then ${values[column]} else o.${column} end`;
  return `own_legs = (
    select array_agg(row(o.id, ${valueOf('account_id')}, ${valueOf('currency_id')}, ${valueOf('type')}, ${valueOf('amount')})::own_leg)
    from unnest(own_legs) o)`;
}

/** Writes them as the role of operators, which has the right here. */
export async function writeRaw({ database }: World, ...legs: readonly RawLeg[]): Promise<void> {
  await database.pipeline({ workspaces: [NORTH] }, [raw(legs)]);
}

/** The workspace's settlement account. */
export async function settlement({ owner }: World, workspaceId = NORTH): Promise<number> {
  const { rows } = await owner.query<{ id: bigint }>(
    `select id from account where workspace_id = $1 and kind = 'settlement' and currency_id = $2`,
    [workspaceId, EUR],
  );
  return Number(rows[0]!.id);
}
