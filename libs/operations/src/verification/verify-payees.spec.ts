import { type OrderFaults, orderFaults, transactionOf } from '../testing/order-faults.js';
import { PAYEE_CHECK } from './verify-payees.js';

let faults: OrderFaults;

beforeEach(async () => {
  faults = await orderFaults();
});
afterEach(() => faults.world.close());

describe('the verification of a payment to an account here', () => {
  it.each([
    ['its workspace', 'NW0000000006'],
    ['another workspace', 'NW0000000008'],
  ])('reports that it credited another account than the one of its recipient, in %s', async (_where, code) => {
    const [transactionId] = [transactionOf(await faults.payInto(code)), await faults.payInto(code)];
    expect(await faults.failedChecks()).toEqual([]);

    await faults.plant(
      `insert into account (workspace_id, id, currency_id, product_id, name, type, code)
       select workspace_id, 990001, currency_id, product_id, name, type, 'another' from account where code = '${code}';
       insert into audit_outbox (workspace_id, entries) select workspace_id,
         '[{"operation": "openAccount", "outcome": "done", "resourceType": "account", "resourceId": 990001, "actor": {"type": "system"}}]'
         from account where id = 990001;
       update transfer t set account_id = 990001 from account a, transaction x
       where a.code = '${code}' and (t.workspace_id, t.account_id) = (a.workspace_id, a.id)
         and x.id = ${transactionId} and t.created_at = x.created_at`,
    );

    expect(await faults.failedChecks()).toEqual([PAYEE_CHECK]);
  });

  it('reports that it credited an account here with the code of an account of another workspace', async () => {
    await faults.payInto('NW0000000006');

    await faults.plant(
      `update recipient set account_code = 'NW0000000008' where account_code = 'NW0000000006';
       update account set code = 'NW0000000008' where code = 'NW0000000006'`,
    );

    expect(await faults.failedChecks()).toContain(PAYEE_CHECK);
  });
});
