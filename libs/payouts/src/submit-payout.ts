import { uptime } from 'node:os';
import type { PayoutStatus } from '@banking/domain';
import type { Books } from '@banking/ledger';
import { BatchedCalls, bind, type Database, sqlStatement } from '@banking/postgres';
import {
  type Claim,
  lockClaims,
  LostClaimError,
  WorkError,
  type WorkHandler,
  type WorkOutcome,
} from '@banking/work-queue';
import { askHook, type Decision, type PayoutDecisions } from './decide-payout.js';
import { outgoingColumns } from './discrepancies.js';
import { type Outgoing, payoutKey } from './open-payouts.js';
import {
  type NetworkMessage,
  type OpenRails,
  type PaymentReader,
  type PayoutEvent,
  type RailEvent,
  traceNetwork,
} from './rail.js';
import { type RailEventEffect, recordEvents } from './record-rail-events.js';

export interface PayoutOptions {
  readonly books: Books;
  /** Payouts of other networks are left to other workers. */
  readonly rails: OpenRails;
  readonly readPayment: PaymentReader;
  /** Without it, payouts that need a decision wait for a worker that has it, or for an operator. */
  readonly decisions?: PayoutDecisions | undefined;
  /** Aborts a call to the network. Default: after 10 s. */
  readonly deadline?: (() => AbortSignal) | undefined;
}

/** How often a submitted payout is checked with the network, in case an event was lost. */
const CHECK_INTERVAL_MS = 15 * 60_000;

/** How long a payout is left while payouts are stopped. */
const STOPPED_MS = 5 * 60_000;

const STOPPED = 'payouts are stopped';

/** How long a held payout is left. The decision of an operator makes it due. */
const HELD_MS = 24 * 60 * 60_000;

/** How a rejection by the decision hook or an operator is recorded. ISO 20022 MS03: the agent does not state the reason. */
const REJECTION: RailEvent = { providerEvent: 'decision', status: 'RJCT', reasonCode: 'MS03' };

export const CONTENT_DIFFERS =
  'the network has the payment with another amount or currency: run banking work reconcile';

const MARK_SUBMITTED = sqlStatement(
  'mark_submitted',
  `update payout p set status = 'submitted', reason = null, accepted_at = coalesce(p.accepted_at, statement_timestamp()), updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) and p.status = 'submitting'`,
);

const NOTE_FAILURES = sqlStatement(
  'note_payout_failures',
  `update payout p set reason = u.reason, status = case when u.is_parked then 'parked' else p.status end,
                       parked_at = case when u.is_parked then statement_timestamp() end, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[], $3::text[], $4::boolean[]) u(workspace_id, transaction_id, reason, is_parked)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) and p.status in ('submitting', 'submitted')`,
);

/**
 * The handler of payouts: submits each of them to its network once, and none while payouts are stopped. Each payout is handled separately.
 * The steps that several payouts take at the same time share one database transaction (`BatchedCalls`), in which a payout that fails
 * or whose claim is lost affects no other.
 */
export function payoutHandler(options: PayoutOptions): WorkHandler {
  const { books } = options;
  const steps = {
    beginner: new PayoutBeginner(books.database),
    events: new BatchedCalls((events: readonly PayoutEvent[]) => recordEvents(books, events)),
  };
  return {
    rails: [...options.rails.keys()],
    run: (claim, signal) => submitPayout(options, steps, claim, signal),
    notePostponed: (claims) => [bind(MARK_SUBMITTED, ...outgoingColumns(claims.map(outgoingOf)))],
    noteFailures: (failures) => [
      bind(
        NOTE_FAILURES,
        ...outgoingColumns(failures.map(({ claim }) => outgoingOf(claim))),
        failures.map(({ reason }) => reason),
        failures.map(({ isParked }) => isParked),
      ),
    ],
  };
}

/** The steps that concurrent payouts take together. */
interface SharedSteps {
  readonly beginner: PayoutBeginner;
  readonly events: BatchedCalls<PayoutEvent, RailEventEffect | Error>;
}

const outgoingOf = ({ workspaceId, subjectId }: Claim): Outgoing => ({ workspaceId, transactionId: subjectId });

async function submitPayout(
  { books, rails, readPayment, decisions, deadline = () => AbortSignal.timeout(10_000) }: PayoutOptions,
  { beginner, events: recorder }: SharedSteps,
  claim: Claim,
  signal: AbortSignal,
): Promise<WorkOutcome> {
  const { workspaceId, transactionId } = outgoingOf(claim);
  const rail = rails.get(claim.rail);
  if (!rail) throw new Error('a payout was claimed of a network that this worker does not call');
  let payout = begunBefore(claim) ?? (await beginner.begin(claim));
  if (payout.status === 'due' && payout.decision === 'missing') {
    const { hook, readPayer } = decisions ?? {};
    if (!hook || !readPayer) return { laterMs: STOPPED_MS, heldFor: 'the payout needs a decision, and no hook is set' };
    await askHook(books.database, hook, readPayer, { claim, keyNonce: payout.keyNonce, readPayment }, signal);
    payout = await beginner.begin(claim);
  }
  if (payout.status === 'settled' || payout.status === 'failed') return 'done';
  if (payout.status === 'due' && payout.decision === 'hold') {
    return { laterMs: HELD_MS, heldFor: 'the decision hook holds the payout' };
  }
  const isRejected = payout.status === 'due' && payout.decision === 'reject';
  if (payout.status === 'due' && !isRejected) return { laterMs: STOPPED_MS, heldFor: STOPPED };

  const key = payoutKey({ workspaceId, transactionId, nonce: payout.keyNonce });
  const within = <T>(operation: NetworkMessage['operation'], call: (signal: AbortSignal) => Promise<T>) => {
    const until = AbortSignal.any([signal, deadline()]);
    return traceNetwork({ rail: claim.rail, operation, signal: until }, () => beforeAbort(call, until));
  };
  const find = async () => {
    const found = await within('find', (until) => rail.find(key, until));
    if (!found) return undefined;
    const { amount, currency } = await readPayment(workspaceId, transactionId);
    if (found.amount !== amount || found.currency !== currency) throw new WorkError(CONTENT_DIFFERS);
    return found.events;
  };
  const record = async (events: readonly RailEvent[]) => {
    const effects = await Promise.all(events.map((event) => recorder.call({ workspaceId, transactionId, event })));
    for (const effect of effects) if (effect instanceof Error) throw effect;
  };
  if (isRejected) {
    // In books that were restored, an approval and the try that the network received may be lost: the money must not come back then.
    const earlier = await findEarlierSubmission(payout, find);
    await record(earlier ?? [REJECTION]);
    return earlier ? { laterMs: STOPPED_MS, heldFor: 'the network has the payment, which was rejected' } : 'done';
  }
  const isStopped = payout.status === 'submitting' && !payout.isBegun;
  // An earlier try may have submitted the payment. That is recorded, and nothing is submitted.
  let events = isStopped ? await find() : await findEarlierSubmission(payout, find);
  if (events === undefined && !payout.isBegun) return { laterMs: STOPPED_MS, heldFor: STOPPED };
  if (events === undefined) {
    const payment = { ...(await readPayment(workspaceId, transactionId)), key };
    events = await within('submit', (until) => rail.submit(payment, until));
  }
  await record(events);
  // Recorded as submitted together with the result, under the fence of the claim.
  return { laterMs: CHECK_INTERVAL_MS };
}

/** A payout that was written as begun, which needs no decision: it needs no statement, as long as its lease lasts. */
const begunBefore = ({ fresh }: Claim): BegunPayout | undefined =>
  fresh && uptime() < fresh.untilUptimeS
    ? {
        ...{
          status: 'submitting',
          tries: 1,
          keyNonce: fresh.note,
          isAskedFirst: false,
          isLate: false,
          isAccepted: false,
          isBegun: true,
        },
        decision: null,
      }
    : undefined;

/** Ends at the abort, even where the call ignores its signal. The outcome of the call is unknown then. */
async function beforeAbort<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw new WorkError('the network was not called', { cause: signal.reason });
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([call(signal), aborted]);
  } catch (error) {
    if (signal.aborted) throw new WorkError('the network did not answer in time', { cause: error });
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** A payout at the start of a try. */
export interface BegunPayout extends PayoutAttempt {
  /** Whether this try may submit the payment: false while payouts are stopped or it is not approved, and if it was submitted before. */
  readonly isBegun: boolean;
  /** What was decided, by an operator before the hook; null if it needs no decision. */
  readonly decision: Decision | 'missing' | null;
}

interface PayoutRow extends Omit<BegunPayout, 'isBegun'> {
  workspace_id: bigint;
  transaction_id: bigint;
}

/**
 * Recorded before the network is called: at a second try the network may already have the payment. Begins nothing while payouts are
 * stopped, and no payout without the approval that it needs. Its rows alone prove that the payouts have begun. The caller has locked the claims.
 */
const BEGIN_SUBMITTING = sqlStatement<{ workspace_id: bigint; transaction_id: bigint }>(
  'begin_submitting',
  `update payout p set status = 'submitting', tries = p.tries + 1, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) and p.status in ('due', 'submitting')
     and not exists (select from payout_stop where resumed_at is null)
     and (not p.needs_decision or exists (
       select from payout_decision d
       where d.workspace_id = p.workspace_id and d.transaction_id = p.transaction_id and d.decision = 'approve'))
   returning p.workspace_id, p.transaction_id`,
);

const READ_PAYOUTS = sqlStatement<PayoutRow>(
  'read_payouts',
  `select p.workspace_id, p.transaction_id, p.status, p.tries, p.key_nonce as "keyNonce",
          p.created_at < statement_timestamp() - interval '1 minute' as "isLate",
          p.ask_first as "isAskedFirst", p.accepted_at is not null as "isAccepted",
          case when p.needs_decision then coalesce((
            select d.decision from payout_decision d where d.workspace_id = p.workspace_id and d.transaction_id = p.transaction_id
            order by d.decided_by = 'operator' desc limit 1), 'missing') end as decision
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   join payout p on (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id)`,
);

/** Begins the tries of payouts that are claimed at the same time, in one database transaction. */
export class PayoutBeginner {
  private readonly batches = new BatchedCalls<Claim, BegunPayout | 'lost' | 'missing'>((claims) =>
    this.beginAll(claims),
  );

  constructor(private readonly database: Database) {}

  /** @throws LostClaimError if another worker has the payout; nothing was begun */
  async begin(claim: Claim): Promise<BegunPayout> {
    const begun = await this.batches.call(claim);
    if (begun === 'lost') throw new LostClaimError('the claim is lost');
    if (begun === 'missing') throw new Error(`transaction ${claim.subjectId} has no payout`);
    return begun;
  }

  /** A claim that is lost is left out, and delays no other. */
  private beginAll(claims: readonly Claim[]): Promise<readonly (BegunPayout | 'lost' | 'missing')[]> {
    const workspaces = [...new Set(claims.map(({ workspaceId }) => workspaceId))];
    return this.database.transaction({ workspaces }, async (tx) => {
      const held = await lockClaims(tx, claims);
      const kept = claims.filter((claim) => held.has(claim));
      const ids = [kept.map(({ workspaceId }) => workspaceId), kept.map(({ subjectId }) => subjectId)] as const;
      const [begun, payouts] = await tx.commit([bind(BEGIN_SUBMITTING, ...ids), bind(READ_PAYOUTS, ...ids)] as const);
      const begunNames = new Set(begun.map(nameOfRow));
      const byName = new Map(payouts.map((payout) => [nameOfRow(payout), payout]));
      return claims.map((claim) => {
        const name = `${claim.workspaceId}/${claim.subjectId}`;
        const payout = byName.get(name);
        if (!held.has(claim)) return 'lost';
        return payout ? { ...payout, isBegun: begunNames.has(name) } : 'missing';
      });
    });
  }
}

const nameOfRow = (row: { workspace_id: bigint; transaction_id: bigint }) =>
  `${row.workspace_id}/${row.transaction_id}`;

/** A payout at the start of a try. `tries` includes this one, except of a payout that is `submitted` already. */
export interface PayoutAttempt {
  readonly status: PayoutStatus;
  readonly tries: number;
  /** Of the key. */
  readonly keyNonce: string;
  /** Whether it was reconciled before its first try, as after a restore. */
  readonly isAskedFirst: boolean;
  /** Whether it waited for its first try for long, as after a restore. */
  readonly isLate: boolean;
  /** Whether the network is known to have had it, also before it was parked and released. */
  readonly isAccepted: boolean;
}

/**
 * Retries a payout, or checks a submitted one. The network may already have the payment of an earlier try, so the payment is found by
 * key before it is submitted again. The time of the next try is decided by `run-claimed-work.ts` of the work queue.
 *
 * A first try asks too if it is late or the payout was reconciled: in books that were restored, the try that the network received may be
 * lost. So does a rejection, before the money returns.
 *
 * @returns the events of the payment if the network has it; undefined if it does not, or cannot have it
 */
export async function findEarlierSubmission(
  { tries, isAskedFirst, isLate, isAccepted }: PayoutAttempt,
  find: () => Promise<readonly RailEvent[] | undefined>,
): Promise<readonly RailEvent[] | undefined> {
  if (!isAccepted && tries <= 1 && !isLate && !isAskedFirst) return undefined;
  const events = await find();
  if (events === undefined && isAccepted) {
    throw new WorkError('the network no longer has a payment that it had accepted: ask the bank');
  }
  return events;
}
