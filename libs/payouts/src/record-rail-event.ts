import { write, type Books } from '@banking/ledger';
import { bisect } from '@banking/postgres';
import { isTransientFailure } from '@banking/work-queue';
import { decideRailEvents, LockedAccountError, prepareRailEvents, type RailEventEffect } from './decide-rail-events.js';
import { nameOfOutgoing } from './money-position.js';
import { noteStatuses } from './note-statuses.js';
import type { PayoutEvent, RailEvent } from './rail-event-writes.js';

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
    const { effects, posted, recorded, statements } = await decideRailEvents(tx, prepared, { skipsLocked });
    await write(tx, posted, [...statements, ...noteStatuses(recorded)]);
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
