import type { Scope } from '@banking/domain';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { sql, openDatabase } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { agedWorkspaces, type AgedWorld, pageSentBy, sentBy } from '../testing/aged-workspaces.js';

let world: AgedWorld;
/** With one connection. */
let database: Database;
let service: LedgerBankingService;
let scope: Scope;

beforeAll(async () => {
  world = await agedWorkspaces(20);
  const { connection } = world;
  database = await openDatabase({ connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
  service = new LedgerBankingService(database);
  scope = { workspaceId: world.payers.workspaceId };
});
afterAll(async () => {
  await database.end();
  await world.close();
});

/** Read once for a process, or compared from time to time. */
const OF_PROCESS = ['read_reference', 'reference_version', 'read_cursor_key'];

const LISTS = ['listTransfers', 'listOrders', 'listAccounts', 'listRecipients'] as const;

describe('a page of a list', () => {
  it.each(LISTS)('is read by one statement, however many items it has: %s', async (list) => {
    for (const limit of [1, 500]) {
      const sent = await sentBy(database, () => service[list](scope, { limit }));
      const names = sent.map(({ statement }) => statement.name).filter((name) => !OF_PROCESS.includes(name));
      expect(names).toEqual(['plan_pages_once', expect.stringContaining('list_')]);
    }
  });

  it.each(['listTransfers', 'listOrders'] as const)('reads each row once: %s', async (list) => {
    const [settings, bound] = await pageSentBy(database, () => service[list](scope, { limit: 500 }));

    const [, [row]] = await database.pipeline({ workspaces: [world.payers.workspaceId] }, [settings, bound] as const);

    const { places, ...tables } = row as Record<string, readonly (readonly unknown[])[]>;
    for (const [table, rows] of Object.entries(tables)) {
      expect([table, new Set(rows.map(([id]) => id)).size]).toEqual([table, rows.length]);
    }
    expect(places!.length).toBeGreaterThan(10 * tables['accounts']!.length);
    expect(tables['recipients']!.length).toBeGreaterThan(0);
  });

  it('composes each account, recipient and transaction once', async () => {
    const { items } = await service.listTransfers(scope, { limit: 500 });

    const edges = items.map((item) => item.edges);
    const all: readonly (readonly { readonly id: number }[])[] = [
      edges.flatMap(({ account }) => account ?? []),
      edges.flatMap(({ recipient }) => recipient ?? []),
      edges.flatMap(({ transaction }) => transaction ?? []),
    ];
    for (const linked of all) {
      expect(linked.length).toBeGreaterThan(new Set(linked).size);
      expect(new Set(linked).size).toBe(new Set(linked.map(({ id }) => id)).size);
    }
  });

  it('is planned once', async () => {
    for (let limit = 1; limit <= 12; limit += 1) await service.listTransfers(scope, { limit });

    const [plans] = await database.pipeline({}, [
      sql<{ custom: number }>(
        `select custom_plans::int as custom from pg_prepared_statements where name like 'list_transfers%'`,
      ),
    ]);
    expect(plans).toEqual([{ custom: 0 }]);
  });
});
