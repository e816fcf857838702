import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PlaceOrderInput, type RecipientId, type TransferAmount } from '@banking/domain';
import { verifyPayments } from '@banking/operations/testing';
import {
  listDiscrepancies,
  type Rail,
  receiveRailEvents,
  recordEvent,
  type Resolution,
  resolveDiscrepancy,
} from '@banking/payouts';
import { WORKER_ROLE } from '@banking/postgres';
import { Rails } from '../rails.js';
import { cashReport } from '../testing/bank-files.js';
import { fileRailConfig } from '../testing/file-rails.js';
import { ensureFolder } from './ensure-folder.js';
import { reconcileStatements } from './reconcile-statements.js';
import { type PayingCustomer, payingCustomer } from '../testing/paying-customer.js';

const account = { currency: 'INR', id: '00420042', isIban: false, bic: 'HDFCINBB', holder: 'Harbour Ltd' };
const config = fileRailConfig({}, { accounts: [account], serves: [{ countries: ['IN'] }] });
const rails = new Rails([config]);

let world: PayingCustomer['world'];
let service: PayingCustomer['service'];
let ada: PayingCustomer['ada'];
let accountId: PayingCustomer['accountId'];
let payeeWith: PayingCustomer['payeeWith'];
let recipientID: RecipientId;
let rail: Rail;
let count = 0;

beforeAll(async () => {
  ({ world, service, ada, accountId, payeeWith } = await payingCustomer(rails, '100000000'));
  recipientID = await payeeWith({ beneficiaryName: 'Ravi Menon' });
  rail = rails.open(world.database).get(config.name)!;
  for (const name of ['in', 'sent']) await ensureFolder(join(config.folder, name));
});
afterAll(async () => {
  const findings = await verifyPayments(world.database, Object.values(world.demo.workspaces));
  expect(findings.map(({ detail }) => detail)).toEqual([]);
  rmSync(config.folder, { recursive: true });
  await world.close();
});
afterEach(() =>
  world.owner.query(
    `set session_replication_role = replica; truncate bank_file, bank_statement, bank_entry, rail_event;
     update discrepancy set resolved_at = now() - interval '36 days' where resolved_at is not null;
     set session_replication_role = default`,
  ),
);

interface Paid {
  readonly id: number;
  readonly key: string;
  readonly amount: bigint;
}

/** A payment of 2,500 euros that the bank has in a file. */
async function pay(): Promise<Paid> {
  const input: PlaceOrderInput = {
    ...{ accountId, recipientID, amount: '250000' as TransferAmount, type: 'instant', purposeCode: 'IR001' },
  };
  const { resource } = await service.placeOrder(ada, input);
  const id = resource.edges.executions![0]!.edges.transaction!.id;
  const { rows } = await world.owner.query<Paid>(
    `with payment as (
       select x.id::int as id, concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce) as key, x.target_amount as amount
       from transaction x join payout p on p.transaction_id = x.id where x.id = $1),
     file as (
       insert into payment_file (rail, message_id, prepared_at, prepared_as, written_at)
       select $2, 'M-' || id, now(), '0123abcd', now() from payment returning id),
     filed as (
       insert into file_payment (rail, key, end_to_end_id, amount, currency, content, file_id)
       select $2, p.key, p.key, p.amount, 'INR', '{}', f.id from payment p, file f)
     select * from payment`,
    [id, config.name],
  );
  return rows[0]!;
}

const status = ({ id }: Paid, of: string) =>
  recordEvent(world.books, ada.workspaceId, id, { providerEvent: `event ${++count}`, status: of });

/** The bank notifies an entry of the payment, and an hour has passed since. */
async function entry({ key, amount }: Paid, direction: 'DBIT' | 'CRDT', day = '2026-11-26'): Promise<void> {
  const decimal = `${amount / 100n}.${String(amount % 100n).padStart(2, '0')}`;
  const returned = direction === 'CRDT' ? 'AC04' : undefined;
  const of = { amount: decimal, direction, reference: `N${++count}`, endToEndId: key, ...(returned && { returned }) };
  const text = cashReport('054', account.id, [of], { day, id: `S${count}`, currency: 'INR' });
  const path = join(config.folder, 'in', `${count}.xml`);
  writeFileSync(path, text.replace(/<IBAN>(.*?)<[/]IBAN>/, '<Othr><Id>$1</Id></Othr>'));
  utimesSync(path, 1_000, 1_000);
  await receiveRailEvents({ books: world.books, name: config.name, rail });
  await passHour();
}

const passHour = () =>
  world.owner.query(
    `set session_replication_role = replica;
     update bank_entry set received_at = received_at - interval '1 hour';
     update rail_event set received_at = received_at - interval '1 hour', handed_until = handed_until - interval '1 hour';
     set session_replication_role = default`,
  );

async function resolve({ id }: Paid, resolution: Resolution): Promise<void> {
  const open = await listDiscrepancies(world.database, [ada.workspaceId], { limit: 1_000 });
  const discrepancyId = open.find(({ transactionId }) => transactionId === id)!.id;
  const outcome = await resolveDiscrepancy(world.books, {
    ...{ workspaceId: ada.workspaceId, discrepancyId, resolution, note: 'asked the bank' },
  });
  expect(outcome).toHaveProperty('transactionId');
}

const compare = (rail = config.name) =>
  reconcileStatements(world.database.as(WORKER_ROLE), {
    ...{ rail, bankAccount: account.id, currency: 'INR' },
  });
const differences = async () => (await compare()).differences.map(({ kind, reference }) => [kind, reference]);

describe('a payment that the bank rejected and then debited', () => {
  let paid: Paid;
  beforeEach(async () => {
    paid = await pay();
    await status(paid, 'RJCT');
    await entry(paid, 'DBIT');
  });

  it('is a difference of its amount, and its money is not in the books', async () => {
    expect(await compare()).toMatchObject({
      unknownAmount: -paid.amount,
      differences: [
        {
          ...{ kind: 'payment_debited', day: '2026-11-26', direction: 'debit', amount: `${paid.amount}` },
          ...{ reference: paid.key, entryId: expect.any(Number) },
        },
      ],
    });
  });

  it('is none any more once the bank returns it, on a statement of a later day', async () => {
    await entry(paid, 'CRDT', '2026-11-30');

    expect(await compare()).toMatchObject({ unknownAmount: 0n, differences: [] });
  });

  it.each(['reclaimed', 'dismissed'] as const)('is none any more once its discrepancy is %s', async (resolution) => {
    await resolve(paid, resolution);

    expect(await compare()).toMatchObject({ unknownAmount: 0n, differences: [] });
  });

  it('is a difference again if the bank returns it after it was reclaimed, until the books do too', async () => {
    await resolve(paid, 'reclaimed');
    await entry(paid, 'CRDT');

    expect(await compare()).toMatchObject({
      unknownAmount: paid.amount,
      differences: [{ kind: 'payment_returned', direction: 'credit', amount: `${paid.amount}`, reference: paid.key }],
    });

    await resolve(paid, 'returned');
    expect(await compare()).toMatchObject({ unknownAmount: 0n, differences: [] });
  });
});

describe('a payment that the bank debited and then rejected', () => {
  it('is a difference once an operator has returned it, until the bank does too', async () => {
    const paid = await pay();
    await entry(paid, 'DBIT');
    await status(paid, 'RJCT');
    expect(await differences()).toEqual([]);

    await resolve(paid, 'returned');
    expect(await differences()).toEqual([['payment_debited', paid.key]]);

    await entry(paid, 'CRDT');
    expect(await differences()).toEqual([]);
  });

  it('is none any more after 35 days, or once an operator accepts that the bank has executed it', async () => {
    const [old, accepted] = [await pay(), await pay()];
    for (const paid of [old, accepted]) {
      await entry(paid, 'DBIT');
      await status(paid, 'RJCT');
      await resolve(paid, 'returned');
    }
    await world.owner.query(
      `begin; set local session_replication_role = replica;
       update discrepancy set resolved_at = now() - interval '36 days' where transaction_id = ${old.id}; commit`,
    );
    expect(await differences()).toEqual([['payment_debited', accepted.key]]);

    await status(accepted, 'ACSC');
    await resolve(accepted, 'dismissed');

    expect(await differences()).toEqual([]);
  });
});

describe('a payment that the bank returned and whose money the account cannot take', () => {
  const setBalance = (balance: bigint) =>
    world.owner.query(
      `begin; set local session_replication_role = replica; update account set balance = ${balance} where id = ${accountId}; commit`,
    );

  it('is a difference until the books have returned it', async () => {
    const paid = await pay();
    await entry(paid, 'DBIT');
    const { rows } = await world.owner.query<{ balance: bigint }>(
      `select balance from account where id = ${accountId}`,
    );
    await setBalance(9_007_199_254_740_991n);
    await entry(paid, 'CRDT');

    expect(await differences()).toEqual([['payment_returned', paid.key]]);
    // Also while another rail has the bank account.
    expect((await compare('renamed')).differences).toMatchObject([{ kind: 'payment_returned', reference: paid.key }]);

    await setBalance(rows[0]!.balance);
    await passHour();
    await receiveRailEvents({ books: world.books, name: config.name, rail });
    expect(await differences()).toEqual([]);
  });
});

describe('the differences of payments', () => {
  type Step = (paid: Paid) => Promise<unknown>;
  const steps: Readonly<Record<string, Step>> = {
    rejected: (paid) => status(paid, 'RJCT'),
    debited: (paid) => entry(paid, 'DBIT'),
    returned: (paid) => entry(paid, 'CRDT', '2026-11-30'),
  };
  /** In which the bank returns nothing that it has not debited. */
  const orders = [
    ['rejected', 'debited', 'returned'],
    ['debited', 'rejected', 'returned'],
  ];

  it.each(orders)('explain the balance of the bank after each step: %s, %s, %s', async (...order) => {
    const payments = [await pay(), await pay()];
    const [{ amount }] = payments as [Paid];
    const gone = async () => {
      const { rows } = await world.owner.query<{ gone: bigint }>(
        `select count(*) filter (where r.id is null) as gone
         from transaction x left join transaction r on r.return_of = x.id where x.id = any($1)`,
        [payments.map(({ id }) => id)],
      );
      return BigInt(rows[0]!.gone);
    };
    const bank = async () => {
      const { rows } = await world.owner.query<{ total: bigint }>(
        `select coalesce(sum(case direction when 'credit' then amount else -amount end), 0)::bigint as total from bank_entry`,
      );
      return rows[0]!.total;
    };
    for (const name of order) {
      for (const paid of payments) {
        await steps[name]!(paid);
        const { rows } = await world.owner.query<{ waiting: number }>(
          `select count(*)::int as waiting from transaction where id = any($1) and status = 'pending'`,
          [payments.map(({ id }) => id)],
        );
        const onTheWay = BigInt(rows[0]!.waiting) * amount;
        expect((await compare()).unknownAmount).toBe((await bank()) + (await gone()) * amount - onTheWay);
      }
    }
  });
});
