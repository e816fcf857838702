import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { ReplicaServer, until } from '@banking/embedded-postgres/testing';
import { makeDemoData, readDemoIds } from '@banking/operations/demo';
import type { AccountId, TransferAmount, UserId, WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from '@banking/operations';
import { openDeployment, type Deployment } from './open-deployment.js';

let dataDir: string;
let server: EmbeddedServer;
let replica: ReplicaServer;
let deployment: Deployment;
let service: LedgerBankingService;
let scope: { readonly workspaceId: WorkspaceId; readonly actor: UserId };
const lines: string[] = [];

const urlOf = ({ host, port, user, database }: EmbeddedServer['connection']) =>
  `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'banking-replica-spec-'));
  server = await attachEmbeddedServer({ dataDir, log: () => undefined });
  const first = await openDeployment({ dataDir, isSandbox: true });
  await makeDemoData(first);
  const demo = (await readDemoIds(first.database))!;
  scope = {
    workspaceId: demo.workspaces['Northwind Trading'] as WorkspaceId,
    actor: demo.users['ada@northwind.example'] as UserId,
  };
  await first.close();
  replica = await ReplicaServer.of(server.connection);
  deployment = await openDeployment({
    ...{ dataDir, isSandbox: true, isService: true, prepare: false },
    databaseUrl: urlOf(server.connection),
    replicaUrl: urlOf(replica.connection),
    log: (line) => lines.push(line),
    warn: (line) => lines.push(line),
  });
  service = new LedgerBankingService(deployment.database, deployment.books, {}, true);
});
afterAll(async () => {
  await deployment.close();
  await replica.remove();
  await server.detach();
  rmSync(dataDir, { recursive: true, force: true });
});

const firstAccount = async () => (await service.listAccounts(scope)).items[0]!.id;

/** Every list of a workspace, and a statement, with the second page of one. */
const reads = (accountId: AccountId) => ({
  accounts: () => service.listAccounts(scope),
  recipients: () => service.listRecipients(scope, { saved: true }),
  orders: () => service.listOrders(scope, { limit: 2 }),
  transfers: () => service.listTransfers(scope, { accountId }),
  'second page': async () => {
    const { next } = await service.listTransfers(scope, { limit: 2 });
    return service.listTransfers(scope, { limit: 2, cursor: next! });
  },
  statement: () => service.getStatement(scope, { accountId, from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }),
  'statement by value date': () => service.getStatement(scope, { accountId, from: '2000-01-01', to: '2100-01-01' }),
});

/** The names of the SQL statements that a read sends to the primary through pipelines. */
async function sentToPrimary<T>(read: () => Promise<T>): Promise<{ readonly value: T; readonly names: string[] }> {
  const pipeline = jest.spyOn(deployment.database, 'pipeline');
  try {
    const value = await read();
    return { value, names: pipeline.mock.calls.flatMap(([, bound]) => bound.map(({ statement }) => statement.name)) };
  } finally {
    pipeline.mockRestore();
  }
}

describe('a deployment with a replica', () => {
  it('reports that lists are read from it', () => {
    expect(lines).toEqual(['Lists and statements are read from the replica.']);
  });

  it.each(Object.keys(reads(0 as AccountId)) as (keyof ReturnType<typeof reads>)[])(
    'reads on the replica what the primary has: %s',
    async (name) => {
      const read = reads(await firstAccount())[name];
      const readPipeline = jest
        .spyOn(deployment.database, 'readPipeline')
        .mockImplementation((...args) => deployment.database.pipeline(...args));
      const expected = await read();
      readPipeline.mockRestore();

      // The replica may be behind for a moment.
      await until(
        async () => {
          const { value, names } = await sentToPrimary<unknown>(read);
          expect(value).toEqual(expected);
          return names;
        },
        (names) => !names.some((sent) => /^(list|plan|statement)_/.test(sent)),
      );
    },
  );

  it('shows an acknowledged change in each list while the replay is paused', async () => {
    await replica.pause();

    const [product] = await service.listProducts({});
    const { resource } = await service.openAccount(scope, { productID: product!.id });
    const accountId = resource.id;
    await service.fundAccount(scope, { accountId, amount: '4200' as TransferAmount });

    expect((await service.listAccounts(scope)).items.map(({ id }) => id)).toContain(accountId);
    expect((await service.listTransfers(scope, { accountId })).items).toHaveLength(1);
    const { statement } = reads(accountId);
    expect(await statement()).toMatchObject({ closingBalance: 4200, movements: [{}] });
    await replica.resume();
  });
});
