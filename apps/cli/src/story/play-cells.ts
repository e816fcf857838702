import { setTimeout as pause } from 'node:timers/promises';
import type { WorkspaceView } from '@banking/client';
import {
  type Account,
  type Execution,
  minorUnits,
  type Order,
  type RecipientId,
  toTransferAmount,
} from '@banking/domain';
import { Refused } from '../refused.js';
import { printBalance, printEnd, type Stage } from './play-story.js';
import type { StoryEvents } from './story-events.js';

/** The payer, and the workspace of the payee in another database. */
export interface CellsStage extends Stage {
  readonly payee: WorkspaceView;
  readonly payeeEvents: StoryEvents;
}

/** 100.00 in a currency of two decimals. */
const AMOUNT = toTransferAmount(minorUnits(10_000n));
const POLL_MS = 20;
const TIMEOUT_MS = 60_000;

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
  const execution = await follow(stage, order);
  await printEnd(events, execution);
  if (execution.status === 'completed')
    await payeeEvents.printUntil('transfer.booked', { type: 'account', id: account.id });
  await printBalances();
}

/** Prints each status of the transaction once, with the seconds since the order. @returns the run with its final status */
async function follow({ workspace, accountId, print }: Stage, placed: Order): Promise<Execution> {
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
    await pause(POLL_MS);
  }
}
