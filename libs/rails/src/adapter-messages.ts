import { isFreeText, isInstant, MINOR_UNITS_MAX, type MinorUnits, minorUnits } from '@banking/domain';
import type { PayeeVerification, RailEvent, SubmittedPayment } from '@banking/payouts';

/** What an adapter sent is not what the contract describes. The message names the member and no value. */
export class AdapterMessageError extends Error {
  override readonly name = 'AdapterMessageError';
}

/** An event of the list of events, with its place there. */
export interface ListedEvent {
  readonly position: string;
  readonly key: string;
  /** Of the payment, as its adapter has it. */
  readonly amount: MinorUnits;
  readonly currency: string;
  readonly event: RailEvent;
}

/** A part of the list of events. */
export interface EventPage {
  readonly events: readonly ListedEvent[];
  /** Of the last event, also of one that cannot be read. Undefined for an empty page. */
  readonly lastPosition: string | undefined;
  /** What is wrong with events that have a position and cannot be read. They are passed over: a payment is also found by its key. */
  readonly misfits: readonly string[];
}

/** The forms of texts, as in the schemas of http-rail.openapi.json. */
export const FORMS = {
  key: /^[A-Za-z0-9-]{1,64}$/,
  amount: /^[1-9][0-9]{0,18}$/,
  currency: /^[A-Z]{3}$/,
  position: /^[!-~]{1,200}$/,
  eventId: /^[!-~]{1,100}$/,
  status: /^[A-Z0-9]{1,35}$/,
  reasonCode: /^[A-Za-z0-9]{1,35}$/,
  result: /^(match|close_match|no_match|not_possible)$/,
} as const;

/** Elements of a list at most, as in the contract. */
export const LISTED_MAX = 500;

const EVENTS_OF_PAYMENT_MAX = 100;
const MESSAGE_MAX = 500;

type Members = Readonly<Record<string, unknown>>;

function membersOf(value: unknown, path: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw misfit(path, 'is not an object');
  return value as Members;
}

function listOf<Value>(value: unknown, path: string, max: number, read: (item: unknown, path: string) => Value) {
  if (!Array.isArray(value)) throw misfit(path, 'is not a list');
  if (value.length > max) throw misfit(path, `has more than ${max} elements`);
  return value.map((item, index) => read(item, `${path}[${index}]`));
}

function textOf(members: Members, name: keyof typeof FORMS | 'id', path: string, form = FORMS[name as 'key']): string {
  const value = members[name];
  if (typeof value !== 'string') throw misfit(`${path}.${name}`, 'is missing or no text');
  if (!form.test(value)) throw misfit(`${path}.${name}`, `is not of the form ${form.source}`);
  return value;
}

const misfit = (path: string, fault: string) => new AdapterMessageError(`${path} ${fault}`);

/** A sentence for people. One that is too long or has control characters is left out: it is no part of the status. */
function messageOf({ message }: Members): string | undefined {
  const isUsable = typeof message === 'string' && message !== '' && message.length <= MESSAGE_MAX;
  return isUsable && !/[\p{Cc}\p{Cs}]/u.test(message) ? message : undefined;
}

function eventOf(value: unknown, path: string): RailEvent {
  const members = membersOf(value, path);
  return {
    providerEvent: textOf(members, 'id', path, FORMS.eventId),
    status: textOf(members, 'status', path),
    reasonCode: members['reasonCode'] === undefined ? undefined : textOf(members, 'reasonCode', path),
    message: messageOf(members),
  };
}

function acceptedAtOf(members: Members, path: string): string {
  const value = members['acceptedAt'];
  if (typeof value !== 'string' || !isInstant(value)) throw misfit(`${path}.acceptedAt`, 'is not a time of RFC 3339');
  return value;
}

function amountOf(members: Members, path: string): MinorUnits {
  const amount = BigInt(textOf(members, 'amount', path));
  if (amount > MINOR_UNITS_MAX) throw misfit(`${path}.amount`, 'is more than the books hold');
  return minorUnits(amount);
}

/** A payment as the adapter has it. @throws AdapterMessageError */
export function paymentOf(value: unknown, path = 'payment'): SubmittedPayment {
  const members = membersOf(value, path);
  return {
    key: textOf(members, 'key', path),
    amount: amountOf(members, path),
    currency: textOf(members, 'currency', path),
    acceptedAt: acceptedAtOf(members, path),
    events: listOf(members['events'], `${path}.events`, EVENTS_OF_PAYMENT_MAX, eventOf),
  };
}

/** A page of payments. @throws AdapterMessageError, also for keys out of order, which might repeat pages without end */
export function paymentsOf(value: unknown, after: string | undefined): readonly SubmittedPayment[] {
  const payments = listOf(membersOf(value, 'page')['payments'], 'payments', LISTED_MAX, paymentOf);
  let last = after;
  for (const [index, { key }] of payments.entries()) {
    if (last !== undefined && key <= last) throw misfit(`payments[${index}].key`, 'is not after the key before it');
    last = key;
  }
  return payments;
}

/** The next events of the list. @throws AdapterMessageError */
export function eventPageOf(value: unknown): EventPage {
  const misfits: string[] = [];
  const positions: string[] = [];
  const events = listOf(membersOf(value, 'page')['events'], 'events', LISTED_MAX, (item, path) => {
    const members = membersOf(item, path);
    positions.push(textOf(members, 'position', path));
    try {
      return [listedEventOf(members, path)];
    } catch (error) {
      if (!(error instanceof AdapterMessageError)) throw error;
      misfits.push(error.message);
      return [];
    }
  });
  return { events: events.flat(), lastPosition: positions.at(-1), misfits };
}

const listedEventOf = (members: Members, path: string): ListedEvent => ({
  position: textOf(members, 'position', path),
  key: textOf(members, 'key', path),
  amount: amountOf(members, path),
  currency: textOf(members, 'currency', path),
  event: eventOf(members, path),
});

/** The next events of the list, all of which are as in the contract. @throws AdapterMessageError */
export function listedEventsOf(value: unknown): readonly ListedEvent[] {
  const { events, misfits } = eventPageOf(value);
  if (misfits[0] !== undefined) throw new AdapterMessageError(misfits[0]);
  return events;
}

const NAME_MAX = 140;

/** The answer about a payee. A close match without a name to show is none. @throws AdapterMessageError */
export function verificationOf(value: unknown): PayeeVerification {
  const members = membersOf(value, 'verification');
  const result = textOf(members, 'result', 'verification') as PayeeVerification['result'];
  if (result !== 'close_match') return { result };
  const { name } = members;
  if (typeof name !== 'string' || !isFreeText(name, NAME_MAX)) {
    throw misfit('verification.name', `is missing, or no text of at most ${NAME_MAX} characters`);
  }
  return { result, name };
}

/** The final rejection of a submission; undefined for a body that does not say so clearly. */
export function rejectionOf(value: unknown): RailEvent | undefined {
  try {
    const members = membersOf(value, 'refusal');
    if (members['status'] !== 'RJCT') return undefined;
    const reasonCode = textOf(members, 'reasonCode', 'refusal');
    return { providerEvent: 'submission', status: 'RJCT', reasonCode, message: messageOf(members) };
  } catch (error) {
    if (error instanceof AdapterMessageError) return undefined;
    throw error;
  }
}
