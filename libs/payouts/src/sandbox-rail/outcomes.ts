import { createHash } from 'node:crypto';

/** Something the network will say, so long after it has taken the payment. */
interface Planned {
  readonly afterMs: number;
  readonly status: string;
  readonly reasonCode?: string;
  /** Says again what it has said: the same event, delivered once more. */
  readonly repeats?: true;
}

/** How the network treats a payment. */
export interface SandboxOutcome {
  /** One sentence for whoever scripts a demo. */
  readonly what: string;
  readonly says: readonly Planned[];
  /** How the hand-over itself goes, when not well. */
  readonly handOver?: 'silent' | 'unreachable';
}

const S = 1_000;
const taken = { afterMs: S, status: 'ACSP', reasonCode: 'G000' };
const passedOn = { afterMs: 3 * S, status: 'ACSP', reasonCode: 'G001' };
const credited = { afterMs: 6 * S, status: 'ACCC' };
const rejected = { afterMs: 4 * S, status: 'RJCT', reasonCode: 'AC04' };

const ORDINARY: SandboxOutcome = { what: 'credited after about six seconds', says: [taken, passedOn, credited] };

/**
 * What becomes of a payment, by the last four characters of the creditor's account number; any other is credited.
 *
 * The end of an account number is what an integrator can choose in every corridor: an IBAN has its check digits in front, so each
 * ending has a valid one. An amount would not do: behind a conversion nobody chooses it digit by digit.
 */
export const SANDBOX_OUTCOMES: Readonly<Record<string, SandboxOutcome>> = {
  '9001': { what: 'rejected at once: AC01', says: [{ afterMs: 0, status: 'RJCT', reasonCode: 'AC01' }] },
  '9004': { what: 'rejected after about four seconds: AC04', says: [taken, rejected] },
  '9010': { what: 'credited after about a minute', says: [taken, passedOn, { ...credited, afterMs: 60 * S }] },
  '9011': { what: 'never gets a last word', says: [taken, { ...passedOn, reasonCode: 'G002' }] },
  '9020': {
    what: 'taken, but the answer to the hand-over is lost; then credited',
    says: ORDINARY.says,
    handOver: 'silent',
  },
  '9021': {
    what: 'credited, and everything is said twice',
    says: [taken, { ...taken, repeats: true }, passedOn, { ...passedOn, repeats: true }, credited, credited],
  },
  '9022': {
    what: 'credited, and the words come in the wrong order',
    says: [
      { ...credited, afterMs: S },
      { ...passedOn, afterMs: 3 * S },
      { ...taken, afterMs: 6 * S },
    ],
  },
  '9023': { what: 'rejected, and credited two seconds later', says: [taken, rejected, credited] },
  '9024': {
    what: 'credited, and rejected two seconds later',
    says: [taken, credited, { ...rejected, afterMs: 8 * S }],
  },
  '9030': { what: 'the network cannot be reached: parked after ten tries', says: [], handOver: 'unreachable' },
};

export function outcomeFor(account: string): SandboxOutcome {
  const ending = account.slice(-4);
  return Object.hasOwn(SANDBOX_OUTCOMES, ending) ? SANDBOX_OUTCOMES[ending]! : ORDINARY;
}

/** An event with its place, its name and its time. */
interface ScheduledEvent extends Planned {
  readonly position: number;
  readonly providerEvent: string;
}

/** When the network will say what: up to a fifth sooner or later than planned, the same for the same seed and key. */
export function schedule({ says }: SandboxOutcome, key: string, seed: string): ScheduledEvent[] {
  const byte = createHash('sha256').update(`${seed} ${key}`).digest()[0]!;
  const pace = 0.8 + (0.4 * byte) / 255;
  let name = 0;
  return says.map((planned, position) => {
    if (!planned.repeats) name += 1;
    return { ...planned, position, afterMs: Math.round(planned.afterMs * pace), providerEvent: `sandbox-${name}` };
  });
}
