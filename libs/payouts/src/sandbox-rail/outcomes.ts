import { createHash } from 'node:crypto';

/** An event of the network, with its delay after the submission. */
interface PlannedEvent {
  readonly afterMs: number;
  readonly status: string;
  readonly reasonCode?: string;
  /** Repeats the event before: the same event id, delivered again. */
  readonly repeats?: true;
}

/** The outcome of a payment. */
export interface SandboxOutcome {
  /** The description in docs/integrate/sandbox.md. */
  readonly description: string;
  readonly events: readonly PlannedEvent[];
  /** The failure of the submission itself. */
  readonly submission?: 'silent' | 'unreachable';
}

const S = 1_000;
const accepted = { afterMs: S, status: 'ACSP', reasonCode: 'G000' };
const forwarded = { afterMs: 3 * S, status: 'ACSP', reasonCode: 'G001' };
const credited = { afterMs: 6 * S, status: 'ACCC' };
const rejected = { afterMs: 4 * S, status: 'RJCT', reasonCode: 'AC04' };

const ORDINARY: SandboxOutcome = {
  description: 'credited after about six seconds',
  events: [accepted, forwarded, credited],
};

/**
 * The outcomes by the last four characters of the creditor's account number; any other payment is credited.
 *
 * An integrator can choose the end of an account number in every corridor: an IBAN has its check digits in front, so each ending has
 * a valid one. An amount would not do, because a conversion determines its digits.
 */
export const SANDBOX_OUTCOMES: Readonly<Record<string, SandboxOutcome>> = {
  '9001': { description: 'rejected at once: AC01', events: [{ afterMs: 0, status: 'RJCT', reasonCode: 'AC01' }] },
  '9004': { description: 'rejected after about four seconds: AC04', events: [accepted, rejected] },
  '9010': {
    description: 'credited after about a minute',
    events: [accepted, forwarded, { ...credited, afterMs: 60 * S }],
  },
  '9011': { description: 'never gets a final status', events: [accepted, { ...forwarded, reasonCode: 'G002' }] },
  '9020': {
    description: 'accepted, but the response to the submission is lost; then credited',
    events: ORDINARY.events,
    submission: 'silent',
  },
  '9021': {
    description: 'credited, and every event arrives twice',
    events: [accepted, { ...accepted, repeats: true }, forwarded, { ...forwarded, repeats: true }, credited, credited],
  },
  '9022': {
    description: 'credited, and the events arrive in the wrong order',
    events: [
      { ...credited, afterMs: S },
      { ...forwarded, afterMs: 3 * S },
      { ...accepted, afterMs: 6 * S },
    ],
  },
  '9023': { description: 'rejected, and credited two seconds later', events: [accepted, rejected, credited] },
  '9024': {
    description: 'credited, and rejected two seconds later',
    events: [accepted, credited, { ...rejected, afterMs: 8 * S }],
  },
  '9030': {
    description: 'the network is unreachable: parked after ten attempts',
    events: [],
    submission: 'unreachable',
  },
};

export function outcomeFor(account: string): SandboxOutcome {
  const ending = account.slice(-4);
  return Object.hasOwn(SANDBOX_OUTCOMES, ending) ? SANDBOX_OUTCOMES[ending]! : ORDINARY;
}

/** An event with its position, its id and its time. */
interface ScheduledEvent extends PlannedEvent {
  readonly position: number;
  readonly providerEvent: string;
}

/** The events with their times: up to a fifth sooner or later than planned, the same for the same seed and key. */
export function schedule({ events }: SandboxOutcome, key: string, seed: string): ScheduledEvent[] {
  const byte = createHash('sha256').update(`${seed} ${key}`).digest()[0]!;
  const pace = 0.8 + (0.4 * byte) / 255;
  let id = 0;
  return events.map((planned, position) => {
    if (!planned.repeats) id += 1;
    return { ...planned, position, afterMs: Math.round(planned.afterMs * pace), providerEvent: `sandbox-${id}` };
  });
}
