import { setTimeout as pause } from 'node:timers/promises';
import { RemoteRefusal, type WorkspaceView } from '@banking/client';
import {
  type Account,
  type AccountId,
  type Event,
  type EventResourceType,
  type EventType,
  type Execution,
  fromBalanceAmount,
  minorUnits,
  type MinorUnits,
  type Order,
  parseTransferAmount,
  type Quote,
  type RecipientId,
  type RemittanceEvent,
  toDecimal,
  toTransferAmount,
} from '@banking/domain';
import { Refused, TYPE_WIDTH } from '../print.js';

export interface Stage {
  readonly workspace: WorkspaceView;
  readonly accountId: AccountId;
  readonly print: (line: string) => void;
  readonly events: StoryEvents;
}

/** A payment to one recipient. The last digits of the account number choose the outcome in the sandbox. */
interface Part {
  readonly title: string;
  readonly name: string;
  readonly account: string;
}

export const PARTS: readonly Part[] = [
  { title: 'A payment that is credited', name: 'Asha Rao', account: '50100123456789' },
  { title: 'A payment that is returned', name: 'Ravi Kumar', account: '50100123459004' },
];

/** 100.00 in a currency of two decimals. */
const AMOUNT = toTransferAmount(minorUnits(10_000n));
const POLL_MS = 250;
/** A running worker receives the final status within ten seconds. */
const TIMEOUT_MS = 60_000;

export async function playPart(stage: Stage, part: Part): Promise<void> {
  const { workspace, accountId, print, events } = stage;
  print(`\n${part.title}`);
  await printBalance(stage);

  const recipientID = await addRecipient(stage, part);
  const { resource: quote } = await workspace.quotes.create({
    accountID: accountId,
    recipientID,
    amount: AMOUNT,
  });
  print(`  quote       ${describeQuote(quote)}`);
  await events.printUntil('quote.created', { type: 'quote', id: quote.id });
  const { resource: order } = await workspace.orders.place(
    {
      accountId,
      recipientID,
      amount: AMOUNT,
      type: 'instant',
      quoteID: quote.id,
      purposeCode: 'IR001',
      description: part.title,
    },
    { idempotencyKey: `story-${crypto.randomUUID()}` },
  );

  await follow(stage, order);
  await printBalance(stage);
}

export async function addRecipient({ workspace, print, events }: Stage, part: Part): Promise<RecipientId> {
  const { resource } = await workspace.recipients.addInternational({ ...CORRIDOR, data: dataOf(part), saved: false });
  print(`  recipient   ${resource.name}, account ${resource.accountCode}`);
  await events.printUntil('recipient.added', { type: 'recipient', id: resource.id });
  return resource.id;
}

/** Lets money arrive at the bank for the account, until it is booked. */
export async function playArrival(
  stage: Stage,
  pay: (payment: { readonly amount: string; readonly reference: string }) => Promise<void>,
): Promise<void> {
  const { workspace, accountId, print, events } = stage;
  print('\nA payment that arrives');
  await printBalance(stage);
  const [details] = await workspace.accounts.receivingDetails(accountId);
  if (!details) throw new Refused('The service has no bank account in the currency of the account.');
  print(`  payer       writes account ${details.iban ?? details.accountNumber}, reference ${details.reference}`);
  await pay({ amount: '250.00', reference: details.reference });
  const booked = async () =>
    (await workspace.deposits.listPage({ accountId })).items.find(
      ({ status, reference }) => status === 'booked' && reference === details.reference,
    );
  let deposit = await booked();
  for (const began = performance.now(); !deposit; deposit = await booked()) {
    if (performance.now() - began > TIMEOUT_MS) throw new Refused('The payment did not arrive in a minute.');
    await pause(POLL_MS);
  }
  await events.printUntil('deposit.booked', { type: 'deposit', id: deposit.id });
  await printBalance(stage);
}

const CORRIDOR = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' } as const;

const dataOf = ({ name, account }: Part) => ({
  beneficiaryName: name,
  beneficiaryAccountType: 'Individual',
  beneficiaryAccountNumber: account,
  beneficiaryCountryCode: 'IN',
  destinationCountry: 'IN',
  routingCodeType1: 'IFSC',
  routingCodeValue1: 'HDFC0000001',
});

function describeQuote({ amount, rate, targetAmount, feeAmount, edges }: Quote): string {
  const from = edges.account.edges.currency.code;
  const fee = feeAmount === undefined ? '' : `, fee ${money(parseTransferAmount(feeAmount), from)}`;
  return `${money(parseTransferAmount(amount), from)} at ${rate} is ${money(parseTransferAmount(targetAmount), edges.targetCurrency.code)}${fee}`;
}

const UNFINISHED: readonly string[] = ['awaiting_approval', 'scheduled', 'pending'];

/** Prints each event once, with the seconds since the order, until the final status. */
export async function follow({ workspace, accountId, print, events }: Stage, placed: Order): Promise<void> {
  const began = performance.now();
  const line = (what: string) =>
    print(`  ${`+${((performance.now() - began) / 1_000).toFixed(1)} s`.padEnd(12)}${what}`);
  const printed = new Set<number>();
  line(`order ${placed.id} is placed`);
  await events.printUntil('order.placed', { type: 'order', id: placed.id });
  for (let order = placed; ; order = await workspace.orders.get(accountId, placed.id)) {
    const [execution] = order.edges.executions ?? [];
    const transaction = execution?.edges.transaction;
    for (const event of transaction?.edges?.internationalRemittance?.edges.events ?? []) {
      if (!printed.has(event.id)) line(describeEvent(event));
      printed.add(event.id);
    }
    if (execution && !UNFINISHED.includes(execution.status)) {
      line(transaction ? `transaction ${transaction.id} is ${transaction.status}` : `the run is ${execution.status}`);
      if (execution.failureMessage !== undefined) line(execution.failureMessage);
      await printEnd(events, execution);
      return;
    }
    if (performance.now() - began > TIMEOUT_MS) {
      throw new Refused(
        'The network sent no final status for a minute. Check that SANDBOX is on and that a worker runs: docs/books.md.',
      );
    }
    await pause(POLL_MS);
  }
}

/** Prints the events of a run that has its final status. Returned money is the last of them. */
async function printEnd(events: StoryEvents, { id, status }: Execution): Promise<void> {
  const isReturned = status === 'failed';
  await events.printUntil(isReturned ? 'execution.failed' : 'execution.completed', { type: 'execution', id });
}

const MEANINGS: Readonly<Record<string, string>> = {
  ...{ ACTC: 'checked', ACSP: 'on its way', ACSC: 'settled', ACCC: 'credited', RJCT: 'rejected' },
};

const describeEvent = ({ status, reasonCode = '' }: RemittanceEvent) =>
  `${`${status} ${reasonCode}`.padEnd(10)}${MEANINGS[status] ?? ''}`.trimEnd();

export async function printBalance(
  { workspace, accountId, print }: Omit<Stage, 'events'>,
  name = 'balance',
): Promise<void> {
  const { edges } = await workspace.accounts.get(accountId);
  const [balance] = edges.balances;
  if (balance) print(`  ${name.padEnd(12)}${money(fromBalanceAmount(balance.amount), edges.currency.code)}`);
}

export const money = (amount: MinorUnits, currency: string) => `${toDecimal(amount, currency)} ${currency}`;

/** The payer, and the workspace of the payee in another database. */
export interface CellsStage extends Stage {
  readonly payee: WorkspaceView;
  readonly payeeEvents: StoryEvents;
}

/** Such a payment is completed within milliseconds. */
const CELLS_POLL_MS = 20;

/** Makes two payments between two databases: one that is completed, and one that comes back. */
export async function playCells(stage: CellsStage): Promise<void> {
  const { payee, payeeEvents, print } = stage;
  print('\nA payment that arrives');
  const [account] = (await payee.accounts.listPage()).items;
  if (!account) throw new Refused('The payee has no account.');
  await playPayment(stage, account, await recipientOf(stage, account));

  print('\nA payment to an account that is disabled after its code was saved');
  const { resource: other } = await payee.accounts.open({ productID: account.edges.product.id });
  await payeeEvents.printUntil('account.opened', { type: 'account', id: other.id });
  const recipient = await recipientOf(stage, other);
  await payee.accounts.change(other.id, { status: 'disabled' });
  await payeeEvents.printUntil('account.disabled', { type: 'account', id: other.id });
  await playPayment(stage, other, recipient);
}

async function recipientOf({ workspace, print, events }: CellsStage, { code = '' }: Account): Promise<RecipientId> {
  const { resource } = await workspace.recipients.addInternal({ accountCode: code, saved: false });
  print(`  recipient   account ${code}, in another database`);
  await events.printUntil('recipient.added', { type: 'recipient', id: resource.id });
  return resource.id;
}

async function playPayment(stage: CellsStage, account: Account, recipientID: RecipientId): Promise<void> {
  const { workspace, accountId, print, payee, events, payeeEvents } = stage;
  const payeeStage = { workspace: payee, accountId: account.id, print };
  const printBalances = async () => {
    await printBalance(stage, 'payer');
    await printBalance(payeeStage, 'payee');
  };
  await printBalances();
  const { resource: order } = await workspace.orders.place(
    { accountId, recipientID, amount: AMOUNT, type: 'instant' },
    { idempotencyKey: `story-${crypto.randomUUID()}` },
  );
  await events.printUntil('order.placed', { type: 'order', id: order.id });
  const execution = await followStatus(stage, order);
  await printEnd(events, execution);
  if (execution.status === 'completed')
    await payeeEvents.printUntil('transfer.booked', { type: 'account', id: account.id });
  await printBalances();
}

/** Prints each status of the transaction once, with the seconds since the order. @returns the run with its final status */
async function followStatus({ workspace, accountId, print }: Stage, placed: Order): Promise<Execution> {
  const began = performance.now();
  let printed: string | undefined;
  for (let order = placed; ; order = await workspace.orders.get(accountId, placed.id)) {
    const [execution] = order.edges.executions ?? [];
    const { id, status = 'pending' } = execution?.edges.transaction ?? {};
    const since = `+${((performance.now() - began) / 1_000).toFixed(1)} s`.padEnd(12);
    if (status !== printed) print(`  ${since}transaction ${id ?? ''} is ${status}`);
    printed = status;
    if (execution?.failureMessage !== undefined) print(`  ${since}${execution.failureMessage}`);
    if (execution && status !== 'pending') return execution;
    if (performance.now() - began > TIMEOUT_MS) throw new Refused('The payment was pending for a minute.');
    await pause(CELLS_POLL_MS);
  }
}

const HOUR_MS = 3_600_000;
/** An event follows its change by a moment. A service without a worker has none. */
const WAIT_S = 5;
const PAGE = 500;

interface StoryEventsOptions {
  readonly workspace: WorkspaceView;
  readonly print: (line: string) => void;
  readonly name?: string;
}

/** Prints the events of the resources of the story, and of no other resource of the workspace. */
export class StoryEvents {
  private readonly known = new Set<string>();
  /** Types of events with the names of their resources. */
  private readonly printed = new Set<string>();
  private waiting: readonly Event[] = [];

  private constructor(
    private readonly options: StoryEventsOptions,
    private readonly createdFrom: string,
    private cursor: string | undefined,
  ) {}

  /** Begins behind the events that are there. A service without events has none to print. */
  static async open(options: StoryEventsOptions): Promise<StoryEvents> {
    // One hour ago, in case that the clock of this machine is ahead of that of the service.
    const createdFrom = new Date(Date.now() - HOUR_MS).toISOString();
    const events = new StoryEvents(options, createdFrom, undefined);
    try {
      for (let page = await events.read(0); page.length > 0; page = await events.read(0));
    } catch (error) {
      if (!(error instanceof RemoteRefusal && error.reason === 'route_not_found')) throw error;
      events.cursor = undefined;
    }
    return events;
  }

  /**
   * Prints the events of a resource and of its payment, until one of a type. The resource may be the account of a transfer.
   *
   * @throws RemoteRefusal as the service refuses a list of events
   */
  async printUntil(
    type: EventType,
    resource: { readonly type: EventResourceType; readonly id: number },
  ): Promise<void> {
    if (this.cursor === undefined) return;
    const name = nameOf(resource.type, resource.id);
    this.known.add(name);
    while (!this.printed.has(`${type} of ${name}`)) {
      const page = await this.read(WAIT_S);
      if (page.length === 0) return;
      this.printKnown(page);
    }
  }

  private async read(wait: number): Promise<readonly Event[]> {
    const { events } = this.options.workspace;
    const { items, next } = await events.listPage({
      createdFrom: this.createdFrom,
      limit: PAGE,
      cursor: this.cursor,
      wait,
    });
    this.cursor = next;
    return items;
  }

  /** A transaction is found by its execution, whose event may be behind that of the transaction. */
  private printKnown(page: readonly Event[]): void {
    const events = [...this.waiting, ...page];
    const isKnown = (event: Event) => [...namesOf(event), accountOf(event)].some((name) => this.known.has(name));
    for (let before = -1; before !== this.known.size;) {
      before = this.known.size;
      for (const event of events.filter(isKnown)) for (const name of namesOf(event)) this.known.add(name);
    }
    this.waiting = events.filter((event) => !isKnown(event));
    const { print, name: label = 'event' } = this.options;
    for (const event of events.filter(isKnown)) {
      const { type, resource, sequence } = event;
      print(`  ${label.padEnd(12)}${type.padEnd(TYPE_WIDTH)} ${resource.type} ${resource.id}, sequence ${sequence}`);
      for (const name of [...namesOf(event), accountOf(event)]) this.printed.add(`${type} of ${name}`);
    }
  }
}

const nameOf = (type: EventResourceType, id: number) => `${type} ${id}`;

/** The resource of an event, and the payment that it belongs to. */
function namesOf({ resource, changes: { orderID, transactionID } }: Event): string[] {
  return [
    `${resource.type} ${resource.id}`,
    ...(orderID === undefined ? [] : [nameOf('order', orderID)]),
    ...(transactionID === undefined ? [] : [nameOf('transaction', transactionID)]),
  ];
}

/** Payments of others may have the same account, so their events are not printed unless the account is known. */
const accountOf = ({ changes: { accountID } }: Event) => `account ${accountID}`;
