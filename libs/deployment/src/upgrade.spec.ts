import { openBooks, verifyBooks } from '@banking/ledger';
import { LedgerBankingService } from '@banking/operations';
import { makeDemoData, readDemoIds } from '@banking/operations/demo';
import type { AccountId, Scope, UserId, WorkspaceId } from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { administer } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { openDeployment } from './open-deployment.js';
import { withLaterMigrations } from './testing/later-migrations.js';
import { ownServer } from './testing/own-server.js';

const EXPAND = `-- Accounts have a color.
-- Phase: expand
alter table account add column color text;
alter table account add constraint account_color check (color <> '') not valid;
grant update (color) on account to banking_api;`;
const OUTSIDE = `-- Outside a transaction: accounts are opened meanwhile.
-- Phase: expand
alter table account validate constraint account_color;`;
const CONTRACT = `-- No program uses colors any more.
-- Phase: contract, since 0.1.0
alter table account drop column color;`;

it('a database of the baseline is upgraded in place: its data, its responses and its books stay', async () => {
  const server = await ownServer();
  const database = await server.makeDatabase();
  const settings = { databaseUrl: database.urlOf(), dataDir: '/nowhere', isSandbox: true };
  const seen = async () => {
    const deployment = await openDeployment(settings);
    await makeDemoData(deployment);
    const demo = (await readDemoIds(deployment.database))!;
    const workspaceId = demo.workspaces['Northwind Trading'] as WorkspaceId;
    const ada: Scope = { actor: demo.users['ada@northwind.example'] as UserId, workspaceId };
    const books = openBooks(deployment.database);
    const service = new LedgerBankingService(deployment.database, books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING });
    const { items: accounts } = await service.listAccounts(ada, {});
    const account = await service.getAccount(ada, { accountId: accounts[0]!.id as AccountId });
    const { findings } = await verifyBooks(deployment.database, [workspaceId]);
    await deployment.close();
    return { accounts, account, findings };
  };
  const before = await seen();

  const after = await withLaterMigrations([EXPAND, OUTSIDE, CONTRACT], seen);

  expect(before.findings).toEqual([]);
  expect(after).toEqual(before);
  await administer({ connectionString: settings.databaseUrl }, async (client) => {
    const { rows } = await client.query(
      `select phase, since from banking.schema_migration order by number desc limit 3`,
    );
    expect(rows).toEqual([
      { phase: 'contract', since: '0.1.0' },
      { phase: 'expand', since: null },
      { phase: 'expand', since: null },
    ]);
  });
  await database.drop();
  await server.close();
});
