import { readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { minorUnits, type MinorUnits, type RecipientId, type TransferAmount } from '@banking/domain';
import { OPERATOR_ROLE, WORKER_ROLE } from '@banking/postgres';
import { Rails } from '../rails.js';
import { cashReport, type SampleEntry, statusReport } from '../testing/bank-files.js';
import { filePayment, fileRailConfig, filesIn } from '../testing/file-rails.js';
import type { Iso20022Rail } from './iso20022-rail.js';
import { ignoreEntry, reconcileStatements, storeReconciliations } from './reconcile-statements.js';
import { type PayingCustomer, payingCustomer } from '../testing/paying-customer.js';

const IBAN = 'DE89370400440532013000';
const account = { currency: 'INR', id: IBAN, isIban: true, bic: 'COBADEFFXXX', holder: 'Harbour Ltd' };
const config = fileRailConfig({ closeAfterSeconds: 0 }, { accounts: [account], serves: [{ countries: ['IN'] }] });
const rails = new Rails([config]);
const place = { rail: config.name, bankAccount: IBAN, currency: 'INR' };

let world: PayingCustomer['world'];
let service: PayingCustomer['service'];
let ada: PayingCustomer['ada'];
let accountId: PayingCustomer['accountId'];
let payeeWith: PayingCustomer['payeeWith'];
let recipientID: RecipientId;
let files = 0;

beforeAll(async () => {
  ({ world, service, ada, accountId, payeeWith } = await payingCustomer(rails));
  recipientID = await payeeWith({ beneficiaryName: 'Ravi Menon' });
});
beforeEach(() =>
  asRestored(
    `truncate bank_file, bank_statement, bank_entry, payment_file, file_payment, rail_event, rail_cursor, bank_reconciliation`,
  ),
);
afterEach(() => {
  for (const name of ['out', 'in', 'done', 'refused', 'ready', 'sent']) {
    rmSync(join(config.folder, name), { recursive: true, force: true });
  }
});
afterAll(async () => {
  rmSync(config.folder, { recursive: true });
  await world.close();
});

/** Changes rows as a restore does: without triggers. */
const asRestored = (sql: string) =>
  world.owner.query(`set session_replication_role = replica; ${sql}; set session_replication_role = default`);

interface SentPayment {
  readonly key: string;
  readonly amount: MinorUnits;
}

/** A payment of the service whose payout the restored books do not have. */
const lost: SentPayment = { key: 'payout-1-999999-0123456789ab', amount: minorUnits(3_000n) };

/** One whose payout they have. */
async function keptPayment(): Promise<SentPayment> {
  const input = { accountId, recipientID, amount: '250000' as TransferAmount, type: 'instant', purposeCode: 'IR001' };
  const { resource } = await service.placeOrder(ada, input as never);
  const { rows } = await world.owner.query<{ key: string; amount: bigint }>(
    `select concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce) as key, x.target_amount as amount
     from transaction x join payout p on p.transaction_id = x.id where x.id = $1`,
    [resource.edges.executions![0]!.edges.transaction!.id],
  );
  return { key: rows[0]!.key, amount: minorUnits(rows[0]!.amount) };
}

const openRail = () => rails.open(world.database.as(WORKER_ROLE)).get(config.name) as Iso20022Rail;

/** The payments leave in a file, and the database is restored to the moment before. Returns the message id of the file. */
async function sendAndRestore(...payments: readonly SentPayment[]): Promise<string> {
  const rail = openRail();
  for (const payment of payments) {
    expect(await rail.submit(filePayment(1, { ...payment, currency: 'INR' }))).toEqual([]);
  }
  while ((await rail.chores[0]!.run()) > 0);
  const [text = ''] = filesIn(config, 'out').values();
  await asRestored('truncate file_payment, payment_file');
  return /<MsgId>(.*?)</.exec(text)![1]!;
}

function put(content: string): void {
  files += 1;
  const path = join(config.folder, 'in', `${files}.xml`);
  writeFileSync(path, content);
  utimesSync(path, 1_000, 1_000);
}

/** The bank notifies entries, and a worker reads them. Returns the events that are to be recorded. */
async function notified(...entries: readonly SampleEntry[]) {
  put(cashReport('054', IBAN, entries, { currency: 'INR' }));
  const events = await openRail().receive(100);
  await asRestored(`update bank_entry set received_at = now() - interval '1 hour'`);
  return events.map(({ key, event }) => ({ key, status: event.status }));
}

const debitOf = ({ key, amount }: SentPayment): SampleEntry => ({
  ...{ amount: decimal(amount), direction: 'DBIT', endToEndId: key },
});
const decimal = (amount: bigint) => `${amount / 100n}.${(amount % 100n).toString().padStart(2, '0')}`;

const compare = () => reconcileStatements(world.database.as(WORKER_ROLE), place);
const kinds = async () => (await compare()).differences.map(({ kind, amount, direction }) => [kind, direction, amount]);

describe('a payment that left, and whose payout the restored books do not have', () => {
  it('is a difference once the bank debits it, until an operator ends it', async () => {
    const kept = await keptPayment();
    await sendAndRestore(kept, lost);

    expect(await notified(debitOf(kept), debitOf(lost))).toEqual([{ key: kept.key, status: 'ACSC' }]);

    expect(await kinds()).toEqual([['entry_unknown', 'debit', '3000']]);
    const { unknownAmount, differences } = await compare();
    expect(unknownAmount).toBe(-3_000n);
    const accounts = [{ id: IBAN, currency: 'INR' }];
    expect(await storeReconciliations(world.database.as(WORKER_ROLE), config.name, accounts, 0)).toBe(1);

    const entryId = differences[0]!.entryId!;
    expect(await ignoreEntry(world.database.as(OPERATOR_ROLE), { entryId, note: 'settled with the customer' })).toBe(
      'ignored',
    );
    expect(await kinds()).toEqual([]);
  });

  it('is a difference again if the bank returns it', async () => {
    await sendAndRestore(lost);

    const returned: SampleEntry = { ...debitOf(lost), direction: 'CRDT', returned: 'AC04' };
    expect(await notified(debitOf(lost), returned)).toEqual([]);

    expect(await kinds()).toEqual([
      ['entry_unknown', 'debit', '3000'],
      ['entry_unknown', 'credit', '3000'],
    ]);
  });

  it('is a difference if they have its payout with another amount', async () => {
    const kept = await keptPayment();
    const other = { ...kept, amount: minorUnits(kept.amount + 1n) };
    await sendAndRestore(other);

    expect(await notified(debitOf(other))).toEqual([]);

    expect(await kinds()).toEqual([['entry_unknown', 'debit', other.amount.toString()]]);
  });

  it('is no difference while the bank does not debit it', async () => {
    const kept = await keptPayment();
    await sendAndRestore(kept, lost);
    const rail = openRail();
    expect(await rail.listSubmitted('2026-01-01T00:00:00Z', undefined)).toHaveLength(2);
    while ((await rail.chores[0]!.run()) > 0);
    await asRestored(
      `update payment_file set written_at = now() - interval '9 days';
       insert into bank_statement (file_id, bank_account, currency, statement_id, opening_balance, closing_balance, opened_on,
         closed_on, entry_count, entry_sum)
       values (1, '${IBAN}', 'INR', 's1', 0, 0, current_date - 1, current_date - 1, 0, 0)`,
    );

    const { differences } = await compare();

    expect(differences.map(({ kind, reference }) => [kind, reference])).toEqual([['payment_missing', kept.key]]);
  });
});

describe('a file of the bank that a restored database reads first', () => {
  it('may be about a file of payments that only its copy has', async () => {
    const kept = await keptPayment();
    const messageId = await sendAndRestore(kept);

    put(statusReport(messageId, '<GrpSts>ACSP</GrpSts>', ''));
    const events = await openRail().receive(100);

    expect(events).toMatchObject([{ key: kept.key, event: { status: 'ACSP' } }]);
    expect(readdirSync(join(config.folder, 'refused'))).toEqual([]);
  });

  it('waits while the copies are away', async () => {
    await sendAndRestore(lost);
    await asRestored(
      `insert into payment_file (rail, message_id, prepared_at, prepared_as, written_at)
       values ('${config.name}', 'M-1', now(), '00000001', now())`,
    );
    rmSync(join(config.folder, 'sent'), { recursive: true });

    await expect(notified(debitOf(lost))).rejects.toThrow(/has no sent/);

    expect(readdirSync(join(config.folder, 'in'))).toHaveLength(1);
  });
});
