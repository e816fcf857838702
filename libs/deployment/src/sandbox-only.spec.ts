import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import type { AccountId, TransactionId, TransferAmount, WorkspaceId } from '@banking/domain';
import { SandboxRail } from '@banking/payouts';
import { administer, sql, reasonOf } from '@banking/postgres/testing';
import { LedgerBankingService } from '@banking/operations';
import { openDeployment, type Deployment } from './open-deployment.js';
import { addFunding } from '@banking/operations/provisioning';
import { ownServer, type OwnServer } from './testing/own-server.js';

const shipping = { workspaceId: 1 as WorkspaceId, actor: undefined };
let server: OwnServer;
let own: Awaited<ReturnType<OwnServer['makeDatabase']>>;
let deployment: Deployment;
let service: LedgerBankingService;
let accountId: AccountId;

beforeAll(async () => {
  server = await ownServer();
  own = await server.makeDatabase();
  const databaseUrl = own.urlOf();
  deployment = await openDeployment({ databaseUrl, dataDir: '/nowhere', isSandbox: false });
  const { database, books } = deployment;
  service = new LedgerBankingService(database, books);
  // As the administrator, so that this spec does not depend on who may provision.
  await administer({ connectionString: databaseUrl }, (client) =>
    client.query(`insert into banking.app (id, name) values (1, 'Harbour');
                  insert into banking.workspace (id, app_id, name) values (1, 1, 'Shipping')`),
  );
  const [product] = await service.listProducts({});
  accountId = (await service.openAccount(shipping, { productID: product!.id })).resource.id;
});
afterAll(async () => {
  await deployment.close();
  await own.drop();
  await server.close();
});

describe('a live database', () => {
  it('has no operations of the sandbox', async () => {
    const calls = [
      service.fundAccount(shipping, { accountId, amount: '100' as TransferAmount }),
      service.addTransactionEvent(shipping, { transactionId: 1 as TransactionId, status: 'ACCC' }),
      service.moveClock(shipping, { now: '2099-01-01T00:00:00Z' as never }),
    ];

    expect(await Promise.all(calls.map(reasonOf))).toEqual(['route_not_found', 'route_not_found', 'route_not_found']);
    const { edges } = await service.getAccount(shipping, { accountId });
    expect(edges.balances.map(({ amount }) => amount)).not.toContain(100);
  });

  it('accepts a funding by an operator only with the approval of another', async () => {
    const work = addFunding(deployment.books, { accountId, amount: '12.50', isOfOperator: true });

    await expect(work).rejects.toMatchObject({ code: RULE_VIOLATION.notApprovedByOperator });
  });

  it.each([
    ['a moved clock', `insert into sandbox_clock (workspace_id, now) select id, now() from workspace`],
    ['a payment of its network', `insert into sandbox_rail_payment (key, amount, currency) values ('k', 1, 'EUR')`],
    [
      'an event of its network',
      `insert into sandbox_rail_event (key, position, provider_event, status, due_at) values ('k', 1, 'e', 'ACCC', now())`,
    ],
    ['the demo data', `insert into demo_step (name, id) values ('app', 1)`],
  ])('refuses %s', async (_what, text) => {
    const work = deployment.database.pipeline({ workspaces: [shipping.workspaceId] }, [sql(text)]);

    await expect(work).rejects.toMatchObject({ code: RULE_VIOLATION.sandboxOnly });
  });

  it('refuses a payout over the sandbox network', async () => {
    const rail = new SandboxRail(deployment.database);
    const payment = { key: 'k', amount: 1n, currency: 'EUR', creditor: { account: '1' } } as never;

    await expect(rail.submit(payment, new AbortController().signal)).rejects.toMatchObject({
      code: RULE_VIOLATION.sandboxOnly,
    });
  });

  it('refuses a change of its mode', async () => {
    for (const text of [
      'update deployment_mode set is_sandbox = true',
      'delete from deployment_mode',
      'insert into deployment_mode values (true, true)',
    ]) {
      await expect(deployment.database.pipeline({}, [sql(text)])).rejects.toMatchObject({
        code: SQLSTATE.insufficientPrivilege,
      });
    }
  });
});
