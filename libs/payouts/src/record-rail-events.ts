import {
  accountKey,
  type Books,
  customerAccountsOf,
  decide,
  type DecisionContext,
  lockAndRead,
  type PostedTransaction,
  type PreparedPosting,
  postReturns,
  preparePosting,
  type Proposal,
  requirePosted,
  returnEntries,
} from '@banking/ledger';
import { bind, bisect, type BoundStatement, type DbTransaction, sqlStatement } from '@banking/postgres';
import { isTransientFailure } from '@banking/work-queue';
import {
  byOutgoing,
  type DiscrepancyKind,
  findPositions,
  type LockedTransaction,
  lockTransactions,
  type MoneyPosition,
  nameOfOutgoing,
  outgoingColumns,
} from './discrepancies.js';
import { type Outgoing, PAYOUT } from './open-payouts.js';
import { isArrival, type PayoutEvent, type RailEvent } from './rail.js';
import { type Settlement, settlePayments } from './settle-payments.js';

/**
 * Records events of any status, those of one payout in their order: a database transaction for the first event of each payout, one for
 * the second of each, and so on. After a transient failure, later events of the same payout are not recorded and have its error.
 *
 * Rejections have a database transaction of their own, which skips accounts that another session has locked. Those of each such account
 * have one more, which waits for it: an account that stays locked delays its own events, and the others are recorded before.
 *
 * @returns in the order of the events, the effect of each, or the error for which it was not recorded. One that fails delays no other
 */
export async function recordEvents(
  books: Books,
  events: readonly PayoutEvent[],
): Promise<readonly (RailEventEffect | Error)[]> {
  const results = new Map<PayoutEvent, RailEventEffect | Error>();
  const delayed = new Map<string, Error>();
  for (const all of roundsOf(events)) {
    const round = all.filter((event) => !delayed.has(nameOfOutgoing(event)));
    const rejections = round.filter(({ event }) => event.status === 'RJCT');
    const others = round.filter(({ event }) => event.status !== 'RJCT');
    for (const batch of [others, rejections]) {
      if (batch.length === 0) continue;
      for (const [event, effect] of await recordRound(books, batch)) {
        results.set(event, effect);
        if (effect instanceof Error && isTransientFailure(effect)) delayed.set(nameOfOutgoing(event), effect);
      }
    }
  }
  return events.map((event) => (results.get(event) ?? delayed.get(nameOfOutgoing(event))) as RailEventEffect | Error);
}

/** Records an event of any status. @throws the error for which it is not recorded */
export async function recordEvent(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<RailEventEffect> {
  const [effect] = await recordEvents(books, [{ workspaceId, transactionId, event }]);
  if (effect instanceof Error) throw effect;
  return effect as RailEventEffect;
}

type Effects = Map<PayoutEvent, RailEventEffect | Error>;

/** Records at most one event of each payout: first those that wait for no account, then those of each locked account. */
async function recordRound(books: Books, events: readonly PayoutEvent[]): Promise<Effects> {
  const effects = await recordBatches(books, events, true);
  const byAccount = new Map<string, PayoutEvent[]>();
  for (const [event, effect] of effects) {
    if (!(effect instanceof LockedAccountError)) continue;
    const ofAccount = byAccount.get(effect.account);
    if (ofAccount) ofAccount.push(event);
    else byAccount.set(effect.account, [event]);
  }
  for (const waiting of byAccount.values()) {
    for (const [event, effect] of await recordBatches(books, waiting, false)) effects.set(event, effect);
  }
  return effects;
}

async function recordBatches(books: Books, events: readonly PayoutEvent[], skipsLocked: boolean): Promise<Effects> {
  const effects = await bisect<PayoutEvent, RailEventEffect | Error>(
    events,
    (some) => recordBatch(books, some, skipsLocked),
    (_event, error) => error,
  );
  return new Map(events.map((event, index) => [event, effects[index] as RailEventEffect | Error]));
}

async function recordBatch(
  books: Books,
  events: readonly PayoutEvent[],
  skipsLocked: boolean,
): Promise<readonly (RailEventEffect | Error)[]> {
  const prepared = await prepareRailEvents(books, events);
  const workspaces = [...new Set(events.map(({ workspaceId }) => workspaceId))];
  return books.database.transaction({ workspaces, actorType: 'network' }, async (tx) => {
    const { effects, posted, settlements } = await decideRailEvents(tx, prepared, { skipsLocked });
    await tx.commit([...postReturns(posted), ...settlePayments(settlements, 'network')]);
    return effects;
  });
}

/** Lists of events in which each payout occurs at most once, and its events in their order. */
function roundsOf(events: readonly PayoutEvent[]): PayoutEvent[][] {
  const rounds: PayoutEvent[][] = [];
  const counts = new Map<string, number>();
  for (const event of events) {
    const name = nameOfOutgoing(event);
    const round = counts.get(name) ?? 0;
    counts.set(name, round + 1);
    (rounds[round] ??= []).push(event);
  }
  return rounds;
}

/** Before the transactions, as a worker does who holds the work: the two never wait for each other. In the order of its key. */
const LOCK_WORK = sqlStatement(
  'lock_payout_work',
  `select from (select * from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id) order by 1, 2) u
   cross join lateral (
     select from work w where (w.workspace_id, w.kind, w.subject_id) = (u.workspace_id, '${PAYOUT}', u.transaction_id) for update
   ) w`,
);

/**
 * A separate SQL statement under the locks, so that it reads what their earlier owners wrote. Each limit keeps its
 * subquery one index search for each payout, and the order makes it one of `remittance_event_once`, also in a fresh database: without
 * statistics, the planner may take the primary key, of which it reads a whole workspace.
 */
const FIND_NAMESAKES = sqlStatement<{ workspace_id: bigint; transaction_id: bigint; is_recorded: boolean }>(
  'find_events_of_these_ids',
  `select u.workspace_id, u.transaction_id, exists (
     select from remittance_event
     where workspace_id = u.workspace_id and transaction_id = u.transaction_id and provider_event = u.provider_event and status = u.status
   ) as is_recorded
   from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) u(workspace_id, transaction_id, provider_event, status)
   cross join lateral (
     select from remittance_event
     where workspace_id = u.workspace_id and transaction_id = u.transaction_id and provider_event = u.provider_event
     order by status limit 1
   ) e`,
);

export const lockPayoutWork = (list: readonly Outgoing[]): BoundStatement<unknown> =>
  bind(LOCK_WORK, ...outgoingColumns(list));

/** The effect of an event: it brought the money back, or it was recorded, repeated or too late, and moved no money. */
export type RailEventEffect = 'recorded' | 'returned' | 'repeated' | 'late';

/** Events of a network with all that is needed to decide them in one database transaction: at most one of each payout. */
export interface PreparedRailEvents {
  readonly events: readonly PayoutEvent[];
  /** The return of each transaction, for a rejection only; in the order of the events. */
  readonly returns: readonly (Proposal | undefined)[];
  /** The returns of all rejections; undefined where there is none. */
  readonly posting?: PreparedPosting | undefined;
}

/** The decisions on events, still to be written. */
export interface DecidedRailEvents {
  /** In the order of the events; an error for an event that cannot be recorded, and writes nothing. */
  readonly effects: readonly (RailEventEffect | Error)[];
  /** The returns. */
  readonly posted: readonly PostedTransaction[];
  /** The events that are written, with the final statuses that they give. */
  readonly settlements: readonly Settlement[];
}

/** Another session has locked the account of a rejection. Nothing was written for the event. */
class LockedAccountError extends Error {
  override readonly name = 'LockedAccountError';

  /** @param account the same for all events of the account */
  constructor(readonly account: string) {
    super('another session has locked the account');
  }
}

/** Prepares events for `decideRailEvents`. Call it before the database transaction begins. */
export async function prepareRailEvents(books: Books, events: readonly PayoutEvent[]): Promise<PreparedRailEvents> {
  const rejections = events.filter(({ event }) => event.status === 'RJCT');
  if (rejections.length === 0) return { events, returns: events.map(() => undefined) };
  const entries = await returnEntries(books.database, rejections);
  const proposals = entries.map((entry) => (entry === undefined ? undefined : { entries: [entry] }));
  const posting = await preparePosting(
    books,
    proposals.flatMap((proposal) => proposal ?? []),
  );
  const byEvent = new Map(rejections.map((event, index) => [event, proposals[index]]));
  return { events, posting, returns: events.map((event) => byEvent.get(event)) };
}

/**
 * Locks the transactions of events and decides each event. Nothing is written yet.
 *
 * `ACCC` or `ACSC` completes a pending transaction. `RJCT` fails it and returns its money to the account. A return of the bank gives the
 * money of a completed one back. A repeated or late event moves no money. An event that contradicts an earlier one opens a discrepancy. An event that cannot be recorded has an error: a Refusal
 * `balance_limit_exceeded` if the account cannot hold the returned money. It affects no other event.
 *
 * @param options.skipsLocked does not wait for accounts that another session has locked: their events have a `LockedAccountError`
 */
export async function decideRailEvents(
  tx: DbTransaction,
  prepared: PreparedRailEvents,
  { skipsLocked = false }: { readonly skipsLocked?: boolean } = {},
): Promise<DecidedRailEvents> {
  const states = await lockPayouts(tx, prepared.events);
  const context = await lockAccounts(tx, prepared, states, skipsLocked);
  const posted: PostedTransaction[] = [];
  const settlements: Settlement[] = [];
  const effects = prepared.events.map((event, index) => {
    try {
      const decision = decideEvent(states[index], event, prepared.returns[index], context);
      posted.push(...decision.posted);
      settlements.push(decision.settlement);
      return decision.effect;
    } catch (error) {
      return error instanceof Error ? error : new Error('the event cannot be recorded', { cause: error });
    }
  });
  return { effects, posted, settlements };
}

/** The state of a payout under its lock. */
interface PayoutState {
  readonly status: LockedTransaction['status'];
  readonly position: MoneyPosition;
  /** Whether an event of the same id is recorded. */
  readonly hasNamesake: boolean;
  /** Whether one of the same id and status is: the event is not recorded again. */
  readonly isRecorded: boolean;
}

const isFinal = ({ event }: PayoutEvent): boolean => isArrival(event.status) || event.status === 'RJCT';

/** Locks the transactions of events. For final statuses it locks the payouts' work too. Undefined for one without a payout. */
async function lockPayouts(
  tx: DbTransaction,
  events: readonly PayoutEvent[],
): Promise<readonly (PayoutState | undefined)[]> {
  const [, locked, positions, before] = await tx.pipeline([
    lockPayoutWork(events.filter(isFinal)),
    lockTransactions(events),
    findPositions(events),
    bind(
      FIND_NAMESAKES,
      ...outgoingColumns(events),
      events.map(({ event }) => event.providerEvent),
      events.map(({ event }) => event.status),
    ),
  ] as const);
  const [lockedByName, positionsByName, namesakes] = [byOutgoing(locked), byOutgoing(positions), byOutgoing(before)];
  return events.map((event) => {
    const name = nameOfOutgoing(event);
    const [transaction, position] = [lockedByName.get(name), positionsByName.get(name)];
    if (!transaction || !position) return undefined;
    const namesake = namesakes.get(name);
    const isRecorded = namesake?.is_recorded === true;
    return { status: transaction.status, position, hasNamesake: namesake !== undefined, isRecorded };
  });
}

/** Locks the accounts of those rejections that return money. */
async function lockAccounts(
  tx: DbTransaction,
  { events, posting, returns }: PreparedRailEvents,
  states: readonly (PayoutState | undefined)[],
  skipsLocked: boolean,
): Promise<DecisionContext | undefined> {
  const proposals = returns.flatMap((proposal, index) =>
    proposal && isMovedBack(events[index] as PayoutEvent, states[index]) ? [proposal] : [],
  );
  if (!posting || proposals.length === 0) return undefined;
  return (await lockAndRead(tx, { ...posting, proposals }, [], { skipsLocked })).context;
}

function decideEvent(
  state: PayoutState | undefined,
  payoutEvent: PayoutEvent,
  proposal: Proposal | undefined,
  context: DecisionContext | undefined,
): { effect: RailEventEffect; posted: readonly PostedTransaction[]; settlement: Settlement } {
  const { transactionId, event } = payoutEvent;
  if (!state) throw new Error(`transaction ${transactionId} has no payout`);
  const { status, position, hasNamesake } = state;
  const movesBack = isMovedBack(payoutEvent, state);
  const discrepancies = status === 'pending' || movesBack ? [] : contradictions(event.status, position.isBack);
  if (hasNamesake) discrepancies.push('event_reused');
  const settlement: Settlement = { ...payoutEvent, discrepancies };

  if (event.status !== 'RJCT') {
    const isCredit = isArrival(event.status);
    const finalStatus = isCredit && status === 'pending' ? ('completed' as const) : undefined;
    const effect = isCredit && status === 'failed' ? 'late' : 'recorded';
    return { effect, posted: [], settlement: { ...settlement, finalStatus } };
  }
  const isReturned = position.latestId !== BigInt(transactionId);
  if (status === 'failed' && !isReturned) throw new Error(`transaction ${transactionId} failed without its return`);
  if (!movesBack) return { effect: status === 'failed' ? 'repeated' : 'late', posted: [], settlement };
  if (!proposal || !context) throw new Error(`transaction ${transactionId} has no return to post`);
  if (!context.hasLocked(proposal)) throw new LockedAccountError(accountsOf(proposal));
  const posted = requirePosted(decide(context, proposal));
  return {
    effect: 'returned',
    posted,
    settlement: status === 'pending' ? { ...settlement, finalStatus: 'failed' } : settlement,
  };
}

/**
 * Whether the event gives the money back: a rejection before the end, or a return of the bank after it, of money that nothing has moved
 * since. A repeated event does not, because the return would be without an event that is its reason.
 */
function isMovedBack({ transactionId, event }: PayoutEvent, state: PayoutState | undefined): boolean {
  if (event.status !== 'RJCT' || !state || state.isRecorded) return false;
  if (state.status === 'pending') return true;
  return event.isReturn === true && state.status === 'completed' && state.position.latestId === BigInt(transactionId);
}

const accountsOf = (proposal: Proposal): string =>
  customerAccountsOf(proposal)
    .map(({ workspaceId, accountId }) => accountKey(workspaceId, accountId))
    .join(' ');

/** The discrepancies between a final status and where the money is. */
function contradictions(status: string, isBack: boolean): DiscrepancyKind[] {
  if (status === 'RJCT' && !isBack) return ['credited_then_rejected'];
  return isArrival(status) && isBack ? ['rejected_then_credited'] : [];
}
