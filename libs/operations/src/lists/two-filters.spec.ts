import type { OrderQuery, Refusal, TransferQuery } from '@banking/domain';
import { API_ROLE, SCHEMA } from '@banking/postgres';
import { analyzeTables, openDatabase } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { agedWorkspaces, type AgedWorld, Explaining, pageSentBy } from '../testing/aged-workspaces.js';

/** Far more than a page of ten may read where one of its filters has few rows. */
const COUNT = 6_000;
const LIMIT = 10;
/** Of a filter with many rows, 1,000 are counted, by three nodes of the plan. */
const MOST = { rows: 4_000, buffers: 1_000 };

let world: AgedWorld;
let service: LedgerBankingService;

beforeAll(async () => {
  world = await agedWorkspaces(COUNT);
  service = new LedgerBankingService(world.database, world.books);
}, 300_000);
afterAll(() => world.close());

const STATUSES = ['completed', 'pending', 'failed'];

describe('a page of a list with two filters', () => {
  it.each(['without statistics', 'with statistics'])('reads little if one has few rows %s', async (statistics) => {
    if (statistics === 'with statistics') await analyzeTables(world.connection, SCHEMA);
    const { workspaceId, accountId, quietAccountId, recipientId } = world.payers;
    const scope = { workspaceId };
    const ofOrders = [
      { accountId, placedBy: 999_999 },
      { recipientId, placedBy: 999_999 },
      { accountId, recipientId, placedBy: 999_999 },
      { accountId: quietAccountId, recipientId },
    ] as OrderQuery[];
    const ofTransfers = [{}, { type: 'payout' }, ...STATUSES.map((transactionStatus) => ({ transactionStatus }))].map(
      (filter) => ({ ...filter, accountId: quietAccountId, recipientId }) as TransferQuery,
    );
    const pages = [
      ...ofOrders.map((query) => [query, () => service.listOrders(scope, { ...query, limit: LIMIT })] as const),
      ...ofTransfers.map((query) => [query, () => service.listTransfers(scope, { ...query, limit: LIMIT })] as const),
    ];
    const explaining = await Explaining.open(world);
    const tooMuch: string[] = [];
    for (const [query, read] of pages) {
      const [settings, page] = await pageSentBy(world.database, read);
      const { rows, buffers } = await explaining.explain(workspaceId, settings, page);
      if (rows > MOST.rows || buffers > MOST.buffers) {
        tooMuch.push(`${page.statement.name} ${JSON.stringify(query)}: ${rows} rows, ${buffers} buffers`);
      }
    }
    await explaining.close();

    expect(tooMuch).toEqual([]);
  });

  it('has the newest rows if both have many', async () => {
    const { workspaceId, accountId, recipientId, placerId } = world.payers;
    const read = async (list: 'listTransfers' | 'listOrders', query: object) => {
      const first = await service[list]({ workspaceId }, { ...query, limit: LIMIT });
      const second = await service[list]({ workspaceId }, { ...query, limit: LIMIT, cursor: first.next! });
      return [...first.items, ...second.items].map(({ id }) => id);
    };
    const newest = async (table: string, where: string, ...values: unknown[]) => {
      const { rows } = await world.owner.query<{ id: bigint }>(
        `select id from ${table} t where workspace_id = $1 and account_id = $2 and recipient_id = $3 and ${where}
         order by created_at desc, id desc limit ${2 * LIMIT}`,
        [workspaceId, accountId, recipientId, ...values],
      );
      return rows.map(({ id }) => Number(id));
    };
    const parties = { accountId, recipientId };

    expect(await read('listTransfers', parties)).toEqual(await newest('transfer', 'true'));
    for (const transactionStatus of STATUSES) {
      const hasStatus = `(select x.status from transaction x where x.workspace_id = $1 and x.id = t.transaction_id) = $4`;
      expect(await read('listTransfers', { ...parties, transactionStatus })).toEqual(
        await newest('transfer', hasStatus, transactionStatus),
      );
    }
    expect(await read('listOrders', { ...parties, placedBy: placerId })).toEqual(
      await newest('customer_order', 'placed_by = $4', placerId),
    );
  });

  it('is refused with what to change if its statement takes too long', async () => {
    const { workspaceId, accountId, recipientId } = world.payers;
    const { connection, owner } = world;
    const settings = { connection, role: API_ROLE, schema: SCHEMA, poolSize: 1, statementTimeoutMs: 200 };
    const database = await openDatabase({ ...settings, lockTimeoutMs: 60_000 });
    const limited = new LedgerBankingService(database);
    const read = (query: TransferQuery) => limited.listTransfers({ workspaceId }, query);
    await read({ limit: 1 });

    await owner.query('begin; lock table transfer in access exclusive mode');
    const reasonOf = (query: TransferQuery) =>
      read(query).then(
        () => 'read',
        (error: unknown) => (error as Refusal).reason,
      );
    const pending = { transactionStatus: 'pending' } as const;
    const completed = { transactionStatus: 'completed' } as const;
    for (const query of [
      { accountId, recipientId },
      { ...pending, accountId },
      { ...pending, type: 'fee' },
      completed,
      { ...completed, createdTo: '2020-01-01T00:00:00Z' },
    ] as TransferQuery[]) {
      expect([query, await reasonOf(query)]).toEqual([query, 'filters_too_slow']);
    }
    for (const query of [{ accountId }, pending, { ...pending, createdTo: '2020-01-01T00:00:00Z' }]) {
      expect([query, await reasonOf(query)]).toEqual([query, 'unavailable']);
    }
    await owner.query('rollback');
    await database.end();
  });
});
