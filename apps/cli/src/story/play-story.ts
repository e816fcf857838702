import { setTimeout as pause } from 'node:timers/promises';
import type { WorkspaceView } from '@banking/client';
import {
  type AccountId,
  type Execution,
  fromBalanceAmount,
  minorUnits,
  type MinorUnits,
  type Order,
  parseTransferAmount,
  type Quote,
  type RemittanceEvent,
  toDecimal,
  toTransferAmount,
} from '@banking/domain';
import { Refused } from '../refused.js';
import type { StoryEvents } from './story-events.js';

/** The client, the paying account, and the printer of the story. */
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

/** Makes one payment: recipient, quote, order, and the events until its final status. */
export async function playPart(stage: Stage, part: Part): Promise<void> {
  const { workspace, accountId, print, events } = stage;
  print(`\n${part.title}`);
  await printBalance(stage);

  const { resource: recipient } = await workspace.recipients.addInternational({
    ...CORRIDOR,
    data: dataOf(part),
    saved: false,
  });
  print(`  recipient   ${recipient.name}, account ${recipient.accountCode}`);
  await events.printUntil('recipient.added', { type: 'recipient', id: recipient.id });
  const { resource: quote } = await workspace.quotes.create({
    accountID: accountId,
    recipientID: recipient.id,
    amount: AMOUNT,
  });
  print(`  quote       ${describeQuote(quote)}`);
  await events.printUntil('quote.created', { type: 'quote', id: quote.id });
  const { resource: order } = await workspace.orders.place(
    {
      accountId,
      recipientID: recipient.id,
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

/** Prints each event once, with the seconds since the order, until the final status. */
async function follow({ workspace, accountId, print, events }: Stage, placed: Order): Promise<void> {
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
    if (execution && execution.status !== 'pending') {
      line(`transaction ${transaction?.id ?? ''} is ${transaction?.status ?? execution.status}`);
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
export async function printEnd(events: StoryEvents, { id, status }: Execution): Promise<void> {
  const isReturned = status === 'failed';
  await events.printUntil(isReturned ? 'execution.failed' : 'execution.completed', { type: 'execution', id });
}

const MEANINGS: Readonly<Record<string, string>> = { ACSP: 'on its way', ACCC: 'credited', RJCT: 'rejected' };

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

const money = (amount: MinorUnits, currency: string) => `${toDecimal(amount, currency)} ${currency}`;
