import type { AccountId, RecipientId, UserId, WorkspaceId } from '@banking/domain';
import { API_ROLE, type BoundStatement, type Database, SCHEMA } from '@banking/postgres';
import { openDatabase, sql } from '@banking/postgres/testing';
import { PLAN_PAGES_ONCE } from '../lists/paged-list.js';
import { demoDatabase, type TestDatabase } from './test-databases.js';

/** A workspace with very many rows of one kind, newer than a few rows of each other kind. */
export interface AgedWorkspace {
  readonly workspaceId: WorkspaceId;
  readonly accountId: AccountId;
  /** An account with few transfers, none of them to the recipient, if the workspace has one. */
  readonly quietAccountId: AccountId | undefined;
  readonly recipientId: RecipientId;
  /** Placed all orders but those of one kind, which have no placer. */
  readonly placerId: UserId;
}

/** The values that most rows of a workspace share. */
interface Majority {
  readonly transfer: readonly [type: string, direction: string, status: string];
  readonly order: readonly [type: string, status: string];
  readonly isSaved: boolean;
  readonly operation: string;
}

const TRANSFERS = ['payout', 'spot', 'internal', 'funding', 'return', 'fee', 'of another service'].flatMap((type) =>
  ['credit', 'debit'].flatMap((direction) =>
    ['completed', 'pending', 'failed'].map((status) => [type, direction, status]),
  ),
);

const OPERATIONS = ['placeOrder', 'changeAccount', 'addInternalRecipient', 'createQuote', 'of another service'];

const ORDERS = ['instant', 'scheduled', 'recurring'].flatMap((type) =>
  ['active', 'completed', 'cancelled', 'failed'].map((status) => [type, status]),
);

/**
 * Two workspaces with `count` transfers, orders and recipients each, without statistics of the tables. One row of each kind is older
 * than `count` rows of the most frequent kind, all of one account and one recipient. Every transaction has a return, and those of
 * `count` transfers carry out an order each.
 *
 * The rows are written past all triggers, so the books of these workspaces do not add up.
 *
 * @param beforehand runs while the tables are small
 */
export async function agedWorkspaces(
  count: number,
  beforehand: (world: AgedWorld) => Promise<void> = async () => undefined,
) {
  const world = await demoDatabase();
  for (const table of ['transfer', 'transaction', 'customer_order', 'execution', 'recipient', 'audit_event']) {
    await world.owner.query(`alter table ${table} set (autovacuum_enabled = false)`);
  }
  const { workspaces, accounts, recipients, users } = world.demo;
  const aged = (name: string, account: string, quiet?: string): AgedWorkspace => ({
    workspaceId: workspaces[name] as WorkspaceId,
    accountId: accounts[account] as AccountId,
    quietAccountId: quiet === undefined ? undefined : (accounts[quiet] as AccountId),
    recipientId: recipients['international'] as RecipientId,
    placerId: users['ada@northwind.example'] as UserId,
  });
  const payers = aged('Northwind Trading', 'Northwind Trading USD', 'Northwind Trading JPY');
  const collectors = aged('Southwind Imports', 'Southwind Imports USD');
  await world.owner.query('set session_replication_role = replica');
  await world.owner.query(
    `insert into recipient (workspace_id, id, kind, name, account_code, currency_id)
     select $1, $2, 'internal', 'Recipient', 'CODE', 840 on conflict do nothing`,
    [collectors.workspaceId, collectors.recipientId],
  );
  await beforehand({ ...world, payers, collectors });
  await fill(world, payers, count, {
    transfer: ['payout', 'debit', 'completed'],
    order: ['instant', 'completed'],
    isSaved: true,
    operation: 'placeOrder',
  });
  await fill(world, collectors, count, {
    transfer: ['funding', 'credit', 'completed'],
    order: ['recurring', 'active'],
    isSaved: false,
    operation: 'changeAccount',
  });
  await world.owner.query('set session_replication_role = origin');
  return { ...world, payers, collectors };
}

export type AgedWorld = Awaited<ReturnType<typeof demoDatabase>> & {
  readonly payers: AgedWorkspace;
  readonly collectors: AgedWorkspace;
};

type Owner = Pick<AgedWorld, 'owner'>;

/** Row `n` of `count` is from `n` seconds after the first day of 2020; the few rows of other kinds are from before. */
async function fill(world: Owner, of: AgedWorkspace, count: number, most: Majority): Promise<void> {
  await addTransfers(world, of, TRANSFERS, `timestamptz '2019-12-01Z'`, 2);
  await addTransfers(world, of, [most.transfer], `timestamptz '2020-01-01Z'`, count);
  await addOrders(world, of, ORDERS, `timestamptz '2019-12-01Z'`, 2);
  await addOrders(world, of, [most.order], `timestamptz '2020-01-01Z'`, count);
  await linkTransactions(world, of);
  await addRecipients(world, of, !most.isSaved, `timestamptz '2019-12-01Z'`, 2);
  await addRecipients(world, of, most.isSaved, `timestamptz '2020-01-01Z'`, count);
  await addAuditEvents(world, of, OPERATIONS, `timestamptz '2019-12-01Z'`, 2);
  await addAuditEvents(world, of, [most.operation], `timestamptz '2020-01-01Z'`, count);
}

/** As many transactions of each kind, with a transfer each. */
export async function addTransfers(
  { owner }: Owner,
  { workspaceId, accountId, recipientId }: AgedWorkspace,
  kinds: readonly (readonly string[])[],
  from: string,
  count: number,
): Promise<void> {
  await owner.query(
    `with made as (
       insert into transaction (workspace_id, status, hash, created_at)
       select $1, k.status, decode(repeat('0', 64), 'hex'), ${from} + n * interval '1 second'
       from unnest($2::text[]) k(status), generate_series(1, $3::int) n
       returning workspace_id, id, status, created_at),
     kind as (
       select * from unnest($4::text[], $5::text[], $2::text[]) with ordinality k(type, direction, status, place)),
     numbered as (
       select m.*, row_number() over (partition by m.status order by m.id) as n from made m),
     placed as (
       select k.*, row_number() over (partition by k.status order by k.place, i) as n
       from kind k, generate_series(1, $3::int) i)
     insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, recipient_id,
                           recipient_digest, account_version, balance_after, created_at)
     select m.workspace_id, m.id, $6, 840, p.direction, 1, p.type, $7, decode(repeat('0', 64), 'hex'), 1000000 + m.id, 0, m.created_at
     from numbered m join placed p on p.status = m.status and p.n = m.n
     order by m.created_at, m.id`,
    [
      workspaceId,
      kinds.map(([, , status]) => status),
      count,
      kinds.map(([type]) => type),
      kinds.map(([, direction]) => direction),
      accountId,
      recipientId,
    ],
  );
}

async function addOrders(
  { owner }: Owner,
  { workspaceId, accountId, recipientId, placerId }: AgedWorkspace,
  kinds: readonly (readonly string[])[],
  from: string,
  count: number,
): Promise<void> {
  await owner.query(
    `insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status, external_reference, created_at,
                                 start_at, anchor, repeat_unit, repeat_value, placed_by)
     select $1, $2, $3, 1, k.type, k.status, format('%s %s %s', k.type, k.status, ${from} + n * interval '1 second'),
            ${from} + n * interval '1 second',
            case when k.type <> 'instant' then ${from} end, case when k.type <> 'instant' then '2020-01-01T00:00:00Z' end,
            case when k.type = 'recurring' then 'daily' end, case when k.type = 'recurring' then 1 end, case when k.place <> 11 then $7::bigint end
     from unnest($4::text[], $5::text[]) with ordinality k(type, status, place), generate_series(1, $6::int) n`,
    [
      workspaceId,
      accountId,
      recipientId,
      kinds.map(([type]) => type),
      kinds.map(([, status]) => status),
      count,
      placerId,
    ],
  );
}

/** Executes each order by a transaction, as far as there are as many, and returns every transaction without moving money. */
async function linkTransactions({ owner }: Owner, { workspaceId }: AgedWorkspace): Promise<void> {
  await owner.query(
    `insert into execution (workspace_id, order_id, sequence, status, transaction_id, scheduled_at, executed_at)
     select $1, o.id, 1000000, 'completed', x.id, o.created_at, o.created_at
     from (select id, created_at, row_number() over (order by id desc) as n from customer_order where workspace_id = $1) o
     join (select id, row_number() over (order by id desc) as n from transaction x
           where workspace_id = $1 and not exists (
             select from execution e where e.workspace_id = $1 and e.transaction_id = x.id)) x using (n)`,
    [workspaceId],
  );
  await owner.query(
    `insert into transaction (workspace_id, status, hash, return_of, created_at)
     select $1, 'completed', decode(repeat('0', 64), 'hex'), x.id, x.created_at
     from transaction x
     where x.workspace_id = $1
       and not exists (select from transaction r where r.workspace_id = $1 and r.return_of = x.id)`,
    [workspaceId],
  );
}

async function addRecipients(
  { owner }: Owner,
  { workspaceId }: AgedWorkspace,
  isSaved: boolean,
  from: string,
  count: number,
): Promise<void> {
  await owner.query(
    `insert into recipient (workspace_id, kind, name, account_code, saved, currency_id, created_at)
     select $1, 'internal', 'Recipient', 'CODE', $2, 840, ${from} + n * interval '1 second' from generate_series(1, $3::int) n`,
    [workspaceId, isSaved, count],
  );
}

/** Entries of each operation, each of another resource. All are of one user, but for those of the last of several operations. */
async function addAuditEvents(
  { owner }: Owner,
  { workspaceId, placerId }: AgedWorkspace,
  operations: readonly string[],
  from: string,
  count: number,
): Promise<void> {
  await owner.query(
    `insert into audit_event (workspace_id, id, operation, outcome, count, resource_type, resource_id, user_id, actor, created_at, hash)
     select $1, l.id + row_number() over (order by n, o.place), o.name, 'done', 1, case when o.place < 5 then 'order' else 'account' end,
            n, case when o.place < 5 then $2::bigint end, '{"type": "user"}',
            ${from} + n * interval '1 second', repeat('0', 64)
     from unnest($3::text[]) with ordinality o(name, place), generate_series(1, $4::int) n,
          (select coalesce(max(id), 0) as id from audit_event where workspace_id = $1) l`,
    [workspaceId, placerId, operations, count],
  );
}

/** The statements that some work sends. */
export async function sentBy(
  database: Database,
  work: () => Promise<unknown>,
): Promise<readonly BoundStatement<unknown>[]> {
  const pipeline = jest.spyOn(database, 'pipeline');
  try {
    await work();
    return pipeline.mock.calls.flatMap(([, bound]) => bound);
  } finally {
    pipeline.mockRestore();
  }
}

/** The statement of a page, with the settings of its planning before it. */
export async function pageSentBy(
  database: Database,
  work: () => Promise<unknown>,
): Promise<readonly [settings: BoundStatement<unknown>, page: BoundStatement<unknown>]> {
  const sent = await sentBy(database, work);
  const at = sent.indexOf(PLAN_PAGES_ONCE);
  const [settings, page] = sent.slice(at, at + 2);
  if (at < 0 || settings === undefined || page === undefined) throw new Error('no page was read');
  return [settings, page];
}

/** The pages and rows that one execution of a statement touched. */
interface Touched {
  /** Reads of pages of 8 kB. */
  readonly buffers: number;
  /** Rows that the nodes of the plan returned or discarded. */
  readonly rows: number;
}

interface Node {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Node[];
}

/** A connection of the service that explains statements it has prepared. */
export class Explaining {
  private readonly prepared = new Set<string>();

  private constructor(private readonly database: Database) {}

  static async open({ connection }: TestDatabase): Promise<Explaining> {
    const database = await openDatabase({ connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
    await database.pipeline({}, [sql('set plan_cache_mode = force_generic_plan')]);
    return new Explaining(database);
  }

  /** A generic plan is made when a statement is explained for the first time. */
  async explain(
    workspaceId: number,
    settings: BoundStatement<unknown>,
    { statement: { name, text }, values }: BoundStatement<unknown>,
  ): Promise<Touched> {
    const scope = { workspaces: [workspaceId] };
    if (!this.prepared.has(name)) await this.database.pipeline(scope, [sql(`prepare "${name}" as ${text}`)]);
    this.prepared.add(name);
    const literals = values.map((value) => (value === null ? 'null' : `'${String(value).replaceAll("'", "''")}'`));
    const call = `"${name}"${literals.length > 0 ? `(${literals.join(', ')})` : ''}`;
    const [, [row]] = await this.database.pipeline(scope, [
      settings,
      sql<{ 'QUERY PLAN': readonly [{ readonly Plan: Node }] }>(
        `explain (analyze, buffers, format json) execute ${call}`,
      ),
    ]);
    const plan = row!['QUERY PLAN'][0].Plan;
    return { buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], rows: rowsOf(plan) };
  }

  close(): Promise<void> {
    return this.database.end();
  }
}

const rowsOf = (node: Node): number =>
  (node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)) *
    node['Actual Loops'] +
  (node.Plans ?? []).reduce((sum, inner) => sum + rowsOf(inner), 0);
