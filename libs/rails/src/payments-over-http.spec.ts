import { minorUnits, type PlaceOrderInput, type RecipientId, type TransferAmount } from '@banking/domain';
import { LedgerBankingService, startBankingWorker } from '@banking/operations';
import { demoDatabase, verifyPayments } from '@banking/operations/testing';
import { until } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { HttpRail } from './http-rail.js';
import { Rails } from './rails.js';
import { type Served, sandboxServed } from './testing/adapters.js';
import { type PayingCustomer, payingCustomer } from './testing/paying-customer.js';

type Adapter = Served & { readonly world: { readonly owner: Awaited<ReturnType<typeof demoDatabase>>['owner'] } };

let world: PayingCustomer['world'];
let adapter: Adapter;
let service: PayingCustomer['service'];
let rails: Rails;
let errors: unknown[];
let ada: PayingCustomer['ada'];
let accountId: PayingCustomer['accountId'];
let payeeWith: PayingCustomer['payeeWith'];
let worker: ReturnType<typeof startBankingWorker> | undefined;

beforeAll(async () => {
  adapter = await sandboxServed();
  rails = new Rails([{ ...adapter.config, timeoutMs: 1_000, serves: [{ countries: ['IN'] }] }]);
  ({ world, service, ada, accountId, payeeWith } = await payingCustomer(rails));
});
beforeEach(() => {
  errors = [];
});
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
});
afterAll(async () => {
  expect(
    (await verifyPayments(world.database, Object.values(world.demo.workspaces))).map(({ detail }) => detail),
  ).toEqual([]);
  await adapter.close();
  await world.close();
});

const start = () => {
  worker = startBankingWorker(world, {
    orders: service.orders,
    rails: (database) => rails.open(database),
    onError: (error) => errors.push(error),
  });
};

const balance = async () => BigInt(String((await service.getAccount(ada, { accountId })).edges.balances[0]?.amount));

const inputOf = (more: Partial<PlaceOrderInput> = {}): PlaceOrderInput => ({
  accountId,
  recipientID: world.demo.recipients['international'] as RecipientId,
  ...{ amount: '250000' as TransferAmount, type: 'instant', purposeCode: 'IR001', ...more },
});

/** Places an order whose payment ends so. Returns its transaction. */
async function place(ending = '0000'): Promise<number> {
  const recipientID = await payeeWith({ beneficiaryAccountNumber: `5010012345${ending}` });
  const { resource } = await service.placeOrder(ada, inputOf({ recipientID }));
  const [execution] = resource.edges.executions!;
  return execution!.edges.transaction!.id;
}

interface State {
  readonly status: string;
  readonly payout: string;
  readonly rail: string;
  readonly key: string;
  readonly reason: string | null;
  readonly tries: number | null;
  readonly delays: number | null;
}

async function stateOf(id: number): Promise<State> {
  const { rows } = await world.owner.query<State>(
    `select x.status, p.status as payout, p.rail, concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce) as key,
            w.reason, w.tries, w.delays
     from transaction x join payout p on p.transaction_id = x.id
     left join work w on w.kind = 'payout' and w.subject_id = x.id where x.id = $1`,
    [id],
  );
  return rows[0]!;
}

/** Waits for a state. What is delayed is due at once. */
const stateBy = (id: number, isReached: (state: State) => boolean) =>
  until(async () => {
    await world.owner.query(
      'update work set due_at = now() where due_at > now() and leased_until is null and delays > 0',
    );
    return stateOf(id);
  }, isReached);

const isEnded = ({ status }: State) => status !== 'pending';

/** How often the adapter was sent the payment. */
async function submissions(key: string): Promise<number | undefined> {
  const { rows } = await adapter.world.owner.query<{ submissions: number }>(
    'select submissions from sandbox_rail_payment where key = $1',
    [key],
  );
  return rows[0]?.submissions;
}

describe('a payment over a bank adapter', () => {
  it('arrives', async () => {
    start();
    const id = await place();

    expect(await stateBy(id, isEnded)).toMatchObject({ status: 'completed', payout: 'settled', rail: 'bank' });
    const transaction = await service.getTransaction(ada, { transactionId: id as never });
    expect(transaction.edges.internationalRemittance?.edges.events?.map(({ status }) => status)).toEqual([
      'ACSP',
      'ACSP',
      'ACCC',
    ]);
    expect(errors).toEqual([]);
  });

  it('is rejected, and its money comes back', async () => {
    start();
    const before = await balance();
    const id = await place('9001');

    expect(await stateBy(id, isEnded)).toMatchObject({ status: 'failed', payout: 'failed' });
    const fee = before - (await balance());
    expect(fee).toBeLessThan(250_000n);
    expect(errors).toEqual([]);
  });

  it('is returned after it arrived: that is a discrepancy for an operator', async () => {
    start();
    const id = await place('9024');

    const open = await until(
      async () => (await world.owner.query('select kind from discrepancy where transaction_id = $1', [id])).rows,
      (rows) => rows.length > 0,
    );

    expect(open).toEqual([{ kind: 'credited_then_rejected' }]);
    expect(await stateOf(id)).toMatchObject({ status: 'completed' });
    await world.owner.query(
      `update discrepancy set resolved_at = now(), resolution = 'dismissed', resolved_by = 'spec', note = 'checked' where transaction_id = $1`,
      [id],
    );
  });

  it('is sent once, if the worker was killed after the adapter had taken it', async () => {
    const id = await place();
    const { key } = await stateOf(id);
    const { rows } = await world.owner.query<{ amount: bigint }>(
      `select l.amount from leg l join account a on a.workspace_id = l.workspace_id and a.id = l.account_id
       where a.kind = 'settlement' and l.transaction_id = $1`,
      [id],
    );
    const payment = { amount: minorUnits(rows[0]!.amount), currency: 'INR' };
    const creditor = { name: 'Ravi Menon', account: '50100123450000' };
    await new HttpRail(adapter.config, world.database).submit(
      { key, ...payment, creditor },
      new AbortController().signal,
    );
    await world.owner.query(`update payout set status = 'submitting', tries = 1 where transaction_id = $1`, [id]);

    start();

    expect(await stateBy(id, isEnded)).toMatchObject({ status: 'completed' });
    expect(await submissions(key)).toBe(1);
    expect(errors).toEqual([]);
  });

  it('is sent once, if the adapter takes it and says nothing', async () => {
    start();
    const id = await place('9020');

    const { key, ...state } = await stateBy(id, isEnded);

    expect(state).toMatchObject({ status: 'completed' });
    expect(await submissions(key)).toBe(1);
    await until(
      async () => errors.length,
      (count) => count > 0,
    );
    expect(errors[0]).toMatchObject({ message: 'the rail bank does not serve: it did not answer in time' });
  });

  it('waits while the adapter is away, uses no try, and arrives when it is back', async () => {
    await adapter.leave();
    start();
    const id = await place();
    const waiting = await stateBy(id, ({ delays }) => (delays ?? 0) > 2);
    expect(waiting).toMatchObject({ status: 'pending', payout: 'submitting', tries: 0 });
    expect(waiting.reason).toMatch(/^the rail bank does not serve: ECONN/);

    await adapter.comeBack();

    expect(await stateBy(id, isEnded)).toMatchObject({ status: 'completed' });
  });

  it('is refused before any debit where no network serves its country', async () => {
    const elsewhere = new Rails([{ ...adapter.config, serves: [{ countries: ['DE'] }] }]);
    const other = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails: elsewhere });
    const before = await balance();
    const { amount, recipientID } = inputOf();

    await expect(other.placeOrder(ada, inputOf())).rejects.toMatchObject({ reason: 'payouts_unavailable' });
    await expect(other.createQuote(ada, { accountID: accountId, recipientID, amount })).rejects.toMatchObject({
      reason: 'payouts_unavailable',
    });

    expect(await balance()).toBe(before);
    const enabledOf = async (one: LedgerBankingService, country: string) =>
      (await one.listCorridors({}, { country })).map(({ enabled }) => enabled);
    expect(new Set(await enabledOf(other, 'IN'))).toEqual(new Set([false]));
    expect(await enabledOf(other, 'DE')).toContain(true);
    expect(await enabledOf(service, 'IN')).toContain(true);
  });
});
