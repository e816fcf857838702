import {
  type MinorUnits,
  type Order,
  type OrderId,
  parseAmount,
  type PlaceOrderInput,
  type RecipientId,
  Refusal,
  type TransactionId,
  type TransferAmount,
  type UserId,
} from '@banking/domain';
import {
  type Books,
  decide,
  type Leg,
  lockAndRead,
  postPayments,
  preparePosting,
  type Proposal,
  requirePosted,
} from '@banking/ledger';
import { recordEvent, SANDBOX_RAIL, sandboxMessage } from '@banking/payouts';
import { bind, sqlStatement } from '@banking/postgres';
import { readRecipientDigest } from '../payments/payment-entries.js';
import {
  type DemoAccount,
  DemoBank,
  type DemoCells,
  findStep,
  keyOf,
  once,
  type People,
  recordStep,
  recordTransfer,
} from './demo-bank.js';

/** The code of the account that the deposit of the demo data is for. */
export const DEPOSIT_TO = 'NW0000000002';

/** Accounts, recipients and one transfer of every kind. */
export async function makeMoney(
  books: Books,
  { northwind, adaPersonal, southwind, cy }: People,
  cells: DemoCells,
): Promise<void> {
  const bank = new DemoBank(books, cells);
  const open = (step: string, workspaceId: number, currency: string, alias: string, code: string) =>
    bank.openAccount(step, { workspaceId, currency, alias, code });

  const usd = await open('accounts:Northwind Trading USD', northwind, 'USD', 'Operations', 'NW0000000001');
  const eur = await open('accounts:Northwind Trading EUR', northwind, 'EUR', 'European suppliers', DEPOSIT_TO);
  const gbp = await open('accounts:Northwind Trading GBP', northwind, 'GBP', 'London office', 'NW0000000003');
  const jpy = await open('accounts:Northwind Trading JPY', northwind, 'JPY', 'Tokyo office', 'NW0000000004');
  const kwd = await open('accounts:Northwind Trading KWD', northwind, 'KWD', 'Kuwait office', 'NW0000000005');
  const payroll = await open('payroll:Northwind Trading USD', northwind, 'USD', 'Payroll', 'NW0000000006');
  const savings = 'Savings for the summer';
  const adaEur = await open('accounts:Ada personal EUR', adaPersonal, 'EUR', savings, 'NW0000000007');
  const southwindUsd = await open('accounts:Southwind Imports USD', southwind, 'USD', 'Main', 'NW0000000008');

  await bank.fund('transfers:funding', usd, '1250000.00');
  for (const [account, amount] of [
    [eur, '480000.00'],
    [gbp, '96000.00'],
    [jpy, '12000000'],
    [kwd, '15500.250'],
    [adaEur, '8200.50'],
    [southwindUsd, '310000.00'],
  ] as const) {
    await bank.fund(`fundings:${account.id}`, account, amount);
  }

  const internal = await bank.addInternalRecipient('recipients:internal', northwind, {
    accountCode: payroll.code,
    name: 'Northwind payroll',
    alias: 'Payroll',
  });
  const international = await bank.addInternationalRecipient('recipients:international', northwind, {
    countryCode: 'IN',
    currencyCode: 'INR',
    payoutMethod: 'LOCAL',
    alias: 'Ravi, Mumbai',
    data: {
      beneficiaryName: 'Ravi Menon',
      beneficiaryAddress: '12 Marine Drive, Mumbai',
      destinationCountry: 'IN',
      beneficiaryAccountType: 'Individual',
      beneficiaryCountryCode: 'IN',
      beneficiaryAccountNumber: '50100123456789',
      routingCodeType1: 'IFSC',
      routingCodeValue1: 'HDFC0000001',
    },
  });
  const berlin = await bank.addInternationalRecipient('more recipients:Berlin', northwind, {
    countryCode: 'DE',
    currencyCode: 'EUR',
    payoutMethod: 'LOCAL',
    alias: 'Berlin office',
    data: {
      beneficiaryName: 'Northwind Trading Berlin',
      beneficiaryAddress: 'Uferstrasse 4, 13357 Berlin',
      beneficiaryStreetName: 'Uferstrasse',
      beneficiaryBuildingNumber: '4',
      beneficiaryPostCode: '13357',
      beneficiaryTownName: 'Berlin',
      destinationCountry: 'DE',
      beneficiaryAccountType: 'Corporate',
      beneficiaryCountryCode: 'DE',
      beneficiaryAccountNumber: 'DE89370400440532013000',
      routingCodeType1: 'SWIFT',
      routingCodeValue1: 'DEUTDEFF',
    },
  });

  const bookings = new DemoBookings(bank);
  const salaries = { from: usd, recipientId: internal, amount: parseAmount('42000.00', 'USD') };
  await bookings.payInternally('transfers:internal', { ...salaries, description: 'Payroll for the month' }, payroll);

  const float = { from: eur, recipientId: berlin, purpose: 'IR001' };
  const fee = parseAmount('12.50', 'EUR');
  const invoice = { ...float, amount: parseAmount('18750.00', 'EUR'), description: 'Float for Berlin' };
  await bookings.payOut('transfers:international', invoice, fee, [
    ['ACSP', 'G000'],
    ['ACSP', 'G001'],
    ['ACSP', 'G003'],
    ['ACCC'],
  ]);
  const deposit = { ...float, amount: parseAmount('3200.00', 'EUR'), description: 'Float for next month' };
  await bookings.payOut('transfers:pending', deposit, fee, [['ACSP', 'G000']]);
  const refused = { ...float, amount: parseAmount('940.00', 'EUR'), description: 'Float for the fair' };
  await once(books.database, 'returns:returned', () =>
    bookings.payOut('transfers:returned', refused, fee, [
      ['ACSP', 'G000'],
      ['ACSP', 'G001'],
      ['RJCT', 'AC04'],
    ]),
  );

  const support = {
    recipientID: international,
    amount: '250000' as TransferAmount,
    type: 'instant',
    description: 'Family support',
    purposeCode: 'IR002',
    externalReference: 'FAMILY-1',
  } as const;
  await payAtQuote(bank, 'transfers:spot', usd, support, [['ACSP', 'G000'], ['ACSP', 'G001'], ['ACCC']]);
  await makeLaterOrders(bank, eur, berlin, cy as UserId);

  const fair = await open('more accounts:Trade fair', northwind, 'EUR', 'Trade fair 2025', 'NW0000000021');
  await bank.disableAccount('more disabled accounts:Trade fair', fair);
}

/** Written directly: a worker pauses an order when its run is due, and this run is due in 2099. */
const PAUSE = sqlStatement(
  'pause_demo_order',
  `update customer_order set paused_at = statement_timestamp(), pause_reason = 'placer_without_role'
   where workspace_id = $1 and id = $2 and status = 'active'`,
);

type OrderInput = Omit<PlaceOrderInput, 'accountId'>;

/** The status and the reason code, if the network gives one. */
type NetworkEvent = readonly [status: 'ACSP' | 'ACCC' | 'RJCT', reasonCode?: string];

/** An instant order at a quote, and the events of the network about its payment. */
async function payAtQuote(
  bank: DemoBank,
  step: string,
  from: DemoAccount,
  input: OrderInput,
  events: readonly NetworkEvent[],
): Promise<void> {
  await bank.transfer(step, async () => {
    const { workspaceId, id: accountID } = from;
    const { recipientID, amount } = input;
    const quote = await bank.service.createQuote({ workspaceId }, { accountID, recipientID, amount }, keyOf(step));
    const order = await place(bank, step, from, { ...input, quoteID: quote.resource.id }).catch((refusal: unknown) => {
      // An earlier start was interrupted between the two, and the quote has expired since.
      if (!(refusal instanceof Refusal && refusal.reason === 'quote_expired')) throw refusal;
      return place(bank, step, from, input);
    });
    const transaction = order.edges.executions?.[0]?.edges.transaction;
    const transfer = transaction?.edges?.transfers?.[0];
    if (!transaction || !transfer) throw new Error('the instant order has no transfer');
    for (const [index, [status, reasonCode]] of events.entries()) {
      const event = { transactionId: transaction.id as TransactionId, status, reasonCode };
      await bank.service.addTransactionEvent({ workspaceId }, event, keyOf(`${step} ${index + 1}`));
    }
    return { transactionId: transaction.id, transferId: transfer.id };
  });
}

/** Orders that are due in 2099, so that none of them runs in a demo. */
async function makeLaterOrders(
  bank: DemoBank,
  from: DemoAccount,
  recipientID: RecipientId,
  withoutRole: UserId,
): Promise<void> {
  const { database } = bank.books;
  const rent = { recipientID, amount: '150000' as TransferAmount, purposeCode: 'IR001' };
  const placeOnce = (step: string, input: OrderInput) =>
    once(database, step, async () => (await place(bank, step, from, input)).id);

  await placeOnce('more orders:monthly', {
    ...rent,
    type: 'recurring',
    description: 'Float for the rent',
    repeatUnit: 'monthly',
    repeatValue: 1,
    startAt: '2099-01-31T09:00:00+01:00',
  });
  const single: OrderInput = {
    ...rent,
    type: 'scheduled',
    description: 'Float for the new year',
    startAt: '2099-12-31T12:00:00Z',
  };
  await placeOnce('more orders:scheduled', single);
  const mistake = await placeOnce('more orders:cancelled', { ...single, description: 'Placed by mistake' });
  await once(database, 'more cancellations:cancelled', () => cancel(bank, from, mistake as OrderId));
  await pauseOnce(bank, from, { ...single, description: 'Float that Cy placed' }, withoutRole);
}

async function place(
  bank: DemoBank,
  step: string,
  from: DemoAccount,
  input: OrderInput,
  actor?: UserId,
): Promise<Order> {
  const { workspaceId, id: accountId } = from;
  const { resource } = await bank.service.placeOrder({ workspaceId, actor }, { ...input, accountId }, keyOf(step));
  return resource;
}

async function cancel(bank: DemoBank, { workspaceId, id: accountId }: DemoAccount, orderId: OrderId): Promise<OrderId> {
  await bank.service.cancelOrder({ workspaceId }, { accountId, orderId }).catch((refusal: unknown) => {
    // An earlier start cancelled it and was interrupted before it recorded the step.
    if (!(refusal instanceof Refusal && refusal.reason === 'order_not_cancellable')) throw refusal;
  });
  return orderId;
}

/** An order of a user without a role, already paused. */
async function pauseOnce(bank: DemoBank, from: DemoAccount, input: OrderInput, placer: UserId): Promise<void> {
  const step = 'more orders:paused';
  const { database } = bank.books;
  if ((await findStep(database, step)) !== undefined) return;
  const { id } = await place(bank, step, from, input, placer);
  const { workspaceId } = from;
  await database.pipeline({ workspaces: [workspaceId] }, [bind(PAUSE, workspaceId, id), recordStep(step, id)]);
}

interface DemoPayment {
  readonly from: DemoAccount;
  readonly recipientId: RecipientId;
  readonly amount: MinorUnits;
  readonly description: string;
  readonly purpose?: string;
}

/**
 * Books payments without orders. The port cannot: it makes an order for each payment, and a worker would
 * finish the payment that has to stay pending. The documented ids are those of demo data without these orders.
 */
class DemoBookings {
  constructor(private readonly bank: DemoBank) {}

  /** Account to account in one workspace: completed at once, without a fee. */
  async payInternally(step: string, payment: DemoPayment, to: DemoAccount): Promise<void> {
    const { from, amount, description } = payment;
    const leg = { currencyId: from.currencyId, amount, type: 'internal', description };
    await this.book(step, payment, 'completed', (recipient) => [
      { ...leg, account: from.id, direction: 'debit', ...recipient },
      { ...leg, account: to.id, direction: 'credit' },
    ]);
  }

  /** A tracked payment abroad with its fee, and the events of the network about it. */
  async payOut(
    step: string,
    payment: DemoPayment,
    feeAmount: MinorUnits,
    events: readonly NetworkEvent[],
  ): Promise<TransactionId> {
    const { from, amount, description, purpose } = payment;
    const { currencyId } = from;
    const leg = { currencyId, amount, type: 'payout' };
    const feeLeg = { currencyId, amount: feeAmount, type: 'fee' };
    const { transactionId } = await this.book(step, payment, 'pending', (recipient) => [
      { ...leg, account: from.id, direction: 'debit', description, purpose, feeAmount, ...recipient },
      { ...leg, account: 'settlement', direction: 'credit' },
      { ...feeLeg, account: from.id, direction: 'debit', description: 'Transfer fee', ...recipient },
      { ...feeLeg, account: 'fees', direction: 'credit' },
    ]);
    for (const [index, [status, reasonCode]] of events.entries()) {
      const message = sandboxMessage(status, reasonCode);
      const event = { providerEvent: `demo-${index + 1}`, status, reasonCode, message };
      // The books record an event once for its id, so a later start does not repeat it.
      await recordEvent(this.bank.books, from.workspaceId, transactionId, event);
    }
    return transactionId as TransactionId;
  }

  /** Posts a transaction once. The step of the demo data is the transfer of the first leg. */
  private async book(
    step: string,
    { from: { workspaceId, id: accountId }, recipientId }: DemoPayment,
    status: 'completed' | 'pending',
    legsOf: (recipient: Pick<Leg, 'recipientId' | 'recipientDigest'>) => readonly Leg[],
  ) {
    const { books } = this.bank;
    const before = await this.bank.findTransfer(step);
    if (before) return before;
    const recipientDigest = await readRecipientDigest(books.database, { workspaceId, accountId, recipientId });
    const legs = legsOf({ recipientId, recipientDigest });
    const rail = status === 'pending' ? SANDBOX_RAIL : undefined;
    // No worker finishes a payment that has to stay pending.
    const proposal: Proposal = { entries: [{ workspaceId, status, legs, isSubmitted: true, rail }] };
    const posting = await preparePosting(books, [proposal]);
    return books.database.transaction({ workspaces: posting.workspaces }, async (tx) => {
      const { context } = await lockAndRead(tx, posting);
      const posted = requirePosted(decide(context, proposal));
      const { id: transactionId, transfers } = posted[0]!;
      const made = { transactionId, transferId: transfers[0]!.id };
      await tx.commit([...postPayments(posted), ...recordTransfer(step, made)]);
      return made;
    });
  }
}
