import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PlaceOrderInput, type TransferAmount } from '@banking/domain';
import { startBankingWorker } from '@banking/operations';
import { verifyPayments } from '@banking/operations/testing';
import { WORKER_ROLE } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { Rails } from '../rails.js';
import { statusReport } from '../testing/bank-files.js';
import { fileRailConfig, filesIn } from '../testing/file-rails.js';
import { reconcileStatements } from './reconcile-statements.js';
import { paymentsOfFile } from './sent-files.js';
import { type PayingCustomer, payingCustomer } from '../testing/paying-customer.js';

const account = { currency: 'INR', id: '00420042', isIban: false, bic: 'HDFCINBB', holder: 'Harbour Ltd' };
const config = fileRailConfig({ closeAfterSeconds: 0 }, { accounts: [account], serves: [{ countries: ['IN'] }] });
const rails = new Rails([config]);

let world: PayingCustomer['world'];
let service: PayingCustomer['service'];
let ada: PayingCustomer['ada'];
let accountId: PayingCustomer['accountId'];
let payeeWith: PayingCustomer['payeeWith'];
let worker: ReturnType<typeof startBankingWorker> | undefined;
const errors: unknown[] = [];

beforeAll(async () => {
  ({ world, service, ada, accountId, payeeWith } = await payingCustomer(rails));
  worker = startBankingWorker(world, {
    orders: service.orders,
    rails: (database) => rails.open(database),
    onError: (error) => errors.push(error),
  });
});
afterAll(async () => {
  await worker?.stop();
  const findings = await verifyPayments(world.database, Object.values(world.demo.workspaces));
  expect(findings.map(({ detail }) => detail)).toEqual([]);
  rmSync(config.folder, { recursive: true });
  await world.close();
});

/** Places an order to a recipient of this name. Returns its transaction. */
async function placeTo(name: string): Promise<number> {
  const input: PlaceOrderInput = {
    accountId,
    recipientID: await payeeWith({ beneficiaryName: name }),
    ...{ amount: '250000' as TransferAmount, type: 'instant', purposeCode: 'IR001' },
  };
  const { resource } = await service.placeOrder(ada, input);
  return resource.edges.executions![0]!.edges.transaction!.id;
}

interface State {
  readonly status: string;
  readonly payout: string;
  readonly key: string;
  readonly amount: bigint;
}

const stateBy = (id: number, isReached: (state: State) => boolean) =>
  until(async () => {
    const { rows } = await world.owner.query<State>(
      `select x.status, p.status as payout, concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce) as key,
              x.target_amount as amount
       from transaction x join payout p on p.transaction_id = x.id where x.id = $1`,
      [id],
    );
    return rows[0]!;
  }, isReached);

describe('a payment over files', () => {
  it('is with its network once it is accepted, and leaves in a file that its worker writes', async () => {
    const { key, amount, status } = await stateBy(await placeTo('Ravi Menon'), ({ payout }) => payout === 'submitted');
    const files = await until(
      () => [...filesIn(config, 'out').values()],
      (list) => list.length > 0,
    );

    expect(status).toBe('pending');
    expect(files.flatMap((text) => paymentsOfFile(text) ?? [])).toMatchObject([
      { endToEndId: key, amount, currency: 'INR' },
    ]);
    expect(errors).toEqual([]);
  });

  it('is refused before any debit if no file can carry it', async () => {
    const read = () => service.getAccount(ada, { accountId });
    const before = await read();

    await expect(placeTo('रवि मेनन')).rejects.toMatchObject({
      reason: 'recipient_invalid',
      message: 'The name of the recipient cannot be written in Latin letters. Write it so.',
    });

    expect(await read()).toEqual(before);
    expect(filesIn(config, 'out').size).toBe(1);
    expect(errors).toEqual([]);
  });
});

/** The payment of a transaction is in a file, which the bank rejects. Returns its key. */
async function reject(id: number): Promise<string> {
  const { key } = await stateBy(id, ({ payout }) => payout === 'submitted');
  const text = await until(
    () => [...filesIn(config, 'out').values()].find((file) => file.includes(key)),
    (found) => found !== undefined,
  );
  const rejection = `<OrgnlPmtInfAndSts><OrgnlPmtInfId>P1</OrgnlPmtInfId><TxInfAndSts><OrgnlEndToEndId>${key}</OrgnlEndToEndId><TxSts>RJCT</TxSts></TxInfAndSts></OrgnlPmtInfAndSts>`;
  const path = join(config.folder, 'in', `${key}.xml`);
  writeFileSync(path, statusReport(/<MsgId>(.*?)</.exec(text!)![1]!, '', rejection));
  utimesSync(path, 1_000, 1_000);
  return key;
}

describe('a rejection whose money the account cannot take', () => {
  const setBalance = (balance: bigint) =>
    world.owner.query(
      `begin; set local session_replication_role = replica; update account set balance = ${balance} where id = ${accountId}; commit`,
    );

  it('is kept with its reason, and returns the money once it can', async () => {
    const id = await placeTo('Anita Rao');
    const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [
      accountId,
    ]);
    await setBalance(9_007_199_254_740_991n);
    await reject(id);

    const reason = () =>
      world.owner.query<{ reason: string | null }>('select reason from work where subject_id = $1', [id]);
    await until(reason, (work) => work.rows[0]?.reason === 'balance_limit_exceeded');
    expect(await stateBy(id, () => true)).toMatchObject({ status: 'pending' });
    await setBalance(rows[0]!.balance);

    expect(await stateBy(id, ({ status }) => status !== 'pending')).toMatchObject({ status: 'failed' });
    expect(new Set(errors.splice(0).map((error) => (error as Error).message)).size).toBe(1);
  });
});

describe('a payment that the bank rejected and never debited', () => {
  it('is a difference if the bank returns it', async () => {
    const id = await placeTo('Arun Das');
    const key = await reject(id);
    await stateBy(id, ({ status }) => status === 'failed');
    await world.owner.query(
      `set session_replication_role = replica; update payment_file set written_at = now() - interval '9 days';
       set session_replication_role = default`,
    );
    await world.owner.query(
      `with file as (
         insert into bank_file (rail, name, digest, message, message_id, outcome)
         values ($1, 's1', sha256('s1'), 'camt.053.001.08', 's1', 'read') returning id)
       insert into bank_statement (file_id, bank_account, currency, statement_id, opening_balance, closing_balance, opened_on,
         closed_on, entry_count, entry_sum)
       select id, $2, 'INR', 's1', 0, 0, current_date - 1, current_date - 1, 0, 0 from file`,
      [config.name, account.id],
    );
    const missing = async () => {
      const place = { rail: config.name, bankAccount: account.id, currency: 'INR' };
      const { differences } = await reconcileStatements(world.database.as(WORKER_ROLE), place);
      return differences.flatMap(({ kind, reference }) => (kind === 'payment_missing' ? [reference] : []));
    };
    expect(await missing()).not.toContain(key);

    await world.owner.query(
      `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, outcome, payout_key)
       select rail, $2, 'back', 'credit', amount, currency, 'booked', 'return', key from file_payment where key = $1`,
      [key, account.id],
    );

    expect(await missing()).toContain(key);
  });
});
