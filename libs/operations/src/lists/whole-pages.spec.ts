import type { Scope } from '@banking/domain';
import { SCHEMA, type BoundStatement } from '@banking/postgres';
import { analyzeTables } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { agedWorkspaces, type AgedWorld, Explaining, pageSentBy } from '../testing/aged-workspaces.js';

/** Rows of the most frequent kind. A lookup that reads all of them touches hundreds of pages. */
const COUNT = 20_000;
const LIMIT = 500;
/** One transfer or order with all its edges. */
const MOST_BUFFERS = 40;

let world: AgedWorld;
/** The largest page of each list. */
let asked: readonly {
  readonly name: string;
  readonly settings: BoundStatement<unknown>;
  readonly bound: BoundStatement<unknown>;
}[];

beforeAll(async () => {
  world = await agedWorkspaces(COUNT);
  const { workspaceId } = world.payers;
  const scope: Scope = { workspaceId };
  const service = new LedgerBankingService(world.database, world.books);
  // The rows of the demo data are newer.
  const old = { limit: 1, createdTo: '2021-01-01T00:00:00Z' };
  const [transfer] = (await service.listTransfers(scope, old)).items;
  const [order] = (await service.listOrders(scope, old)).items;
  const links = { orderID: expect.any(Number) as number, returnedBy: expect.any(Number) as number };
  expect(transfer!.edges.transaction).toMatchObject(links);
  expect(order!.edges.executions).toMatchObject([{ edges: { transaction: links } }]);

  const sent = async (name: string, read: () => Promise<unknown>) => {
    const [settings, bound] = await pageSentBy(world.database, read);
    return { name, settings, bound };
  };
  asked = [
    await sent('transfers', () => service.listTransfers(scope, { limit: LIMIT })),
    await sent('orders', () => service.listOrders(scope, { limit: LIMIT })),
  ];
}, 240_000);
afterAll(() => world.close());

async function tooMuch(): Promise<readonly string[]> {
  const explaining = await Explaining.open(world);
  const findings: string[] = [];
  for (const { name, settings, bound } of asked) {
    const { buffers } = await explaining.explain(world.payers.workspaceId, settings, bound);
    if (buffers > LIMIT * MOST_BUFFERS) findings.push(`${name}: ${buffers} buffers`);
  }
  await explaining.close();
  return findings;
}

describe('the largest pages of a workspace with linked transactions', () => {
  it.each(['without statistics', 'with statistics'])(
    'need a bounded number of lookups per item %s',
    async (statistics) => {
      if (statistics === 'with statistics') await analyzeTables(world.connection, SCHEMA);

      expect(await tooMuch()).toEqual([]);
    },
  );
});
