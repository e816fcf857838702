import { randomUUID } from 'node:crypto';
import { type SubmittedPayment, uetrOf } from '@banking/payouts';
import { boundedFetch, readSecretFile } from '@banking/process';
import {
  AdapterMessageError,
  type ListedEvent,
  listedEventsOf,
  paymentOf,
  paymentsOf,
  verificationOf,
} from './adapter-messages.js';
import type { BankAccount, HttpRailConfig } from './rail-config.js';

/** What one check has found. */
export interface CheckResult {
  readonly check: string;
  readonly isMet: boolean;
  /** What to change in the adapter, where it is not met. */
  readonly change?: string;
}

export interface ConformanceOptions {
  /** How long the events of a payment may take. Default: a minute. */
  readonly patienceMs?: number;
  /** Called after each check. */
  readonly onResult?: (result: CheckResult) => void;
}

/**
 * The accounts by which an adapter in its test mode selects the outcome of a payment: by the last four characters, as a sandbox does.
 * docs/connect-a-bank.md lists them.
 */
const CREDITED = 'DE27500105170000000000';
const REJECTED = 'DE82500105170000009001';
const TWICE = 'DE27500105170000009021';
const OUT_OF_ORDER = 'DE97500105170000009022';
const CLOSE_MATCH = 'DE48500105170000009031';
const NO_MATCH = 'DE21500105170000009032';

/** The path of the optional part of the contract. */
const VERIFICATIONS = 'payee-verifications';

const FINAL: ReadonlySet<string> = new Set(['ACCC', 'RJCT']);

const BYTES_MAX = 2 * 1024 * 1024;
/** As the service waits for a call, where the rail has no timeoutMs. */
const CALL_MS = 8_000;
const PATIENCE_MS = 60_000;
const PAGES_MAX = 10_000;

/** A check is not met. The message says what to change. */
class Unmet extends Error {}

function expectThat(condition: boolean, change: string): asserts condition {
  if (!condition) throw new Unmet(change);
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

type Body = Readonly<Record<string, unknown>>;

/** What each payment of a run has, in minor units. */
const AMOUNT = '12345';

/** Checks an adapter in its test mode against the contract. It makes payments. */
export async function checkConformance(
  rail: HttpRailConfig,
  { patienceMs = PATIENCE_MS, onResult }: ConformanceOptions = {},
): Promise<readonly CheckResult[]> {
  const suite = new Conformance(rail, patienceMs);
  const results: CheckResult[] = [];
  for (const [check, run] of suite.checks()) {
    const result = await run().then(
      (): CheckResult => ({ check, isMet: true }),
      (error: unknown): CheckResult => ({ check, isMet: false, change: changeOf(error) }),
    );
    results.push(result);
    onResult?.(result);
  }
  return results;
}

function changeOf(error: unknown): string {
  if (error instanceof Unmet) return error.message;
  if (error instanceof AdapterMessageError) return `Send what the contract describes: ${error.message}.`;
  const { name, cause } = error as Error & { readonly cause?: { readonly code?: string } };
  const reason = name === 'TimeoutError' ? 'it did not answer in time' : (cause?.code ?? name);
  return `Serve at the url of the rail: ${reason}.`;
}

class Conformance {
  private readonly account: BankAccount;
  /** Unique for the run, and so that keys of the run are in the order in which they are made. */
  private readonly run = `check-${Date.now()}-${randomUUID().slice(0, 8)}`;
  private readonly startedAt = new Date(Date.now() - 60_000).toISOString();
  private keys = 0;
  /** The keys of the payments that the adapter had to accept. */
  private readonly made = new Set<string>();
  /** The place in the list of events at which the run has begun. */
  private start: string | undefined;
  /** The events of these payments as they were first read, each as a text, by their positions. */
  private readonly read = new Map<string, string>();

  constructor(
    private readonly rail: HttpRailConfig,
    private readonly patienceMs: number,
  ) {
    const [account] = rail.accounts;
    if (!account) throw new Error('a rail has an account');
    this.account = account;
  }

  checks(): readonly (readonly [string, () => Promise<void>])[] {
    return [
      ['refuses a request without the token', () => this.refusesStrangers()],
      ['lists events up to an end', () => this.findsEndOfEvents()],
      ['accepts a payment, and shows it by its key', () => this.accepts()],
      ['has one payment of a key that is sent twice', () => this.recognizesRepeats()],
      ['refuses a key that is sent again with other content', () => this.refusesOtherContent()],
      ['refuses a payment without a key', () => this.refusesWithoutKey()],
      ['refuses amounts that are no whole number above zero', () => this.refusesAmounts()],
      ['has no payment of a key that it never got', () => this.knowsNoOtherKey()],
      ['lists payments in pages, in the order of their keys', () => this.listsPayments()],
      ['reports a payment that arrived', () => this.reports(CREDITED, 'ACCC')],
      ['reports a payment that was rejected, with its reason', () => this.reports(REJECTED, 'RJCT')],
      ['reports events twice in its test mode, with the same ids', () => this.repeatsEvents()],
      ['reports events out of order in its test mode', () => this.disordersEvents()],
      ['reports each event with the amount and currency of its payment', () => this.namesAmounts()],
      ['reports the same events again after the same position', () => this.repeatsPosition()],
      ['answers within its wait when there is no event', () => this.endsItsWait()],
      ['says whose account it is, or has no such request', () => this.verifiesPayees()],
    ];
  }

  private async refusesStrangers(): Promise<void> {
    const key = this.newKey();
    const sent = { body: this.bodyOf(key, CREDITED), headers: { 'idempotency-key': key } };
    for (const token of [undefined, 'another token']) {
      for (const [method, path, more] of [
        ['GET', `payments/${key}`, {}],
        ['GET', `payments?acceptedSince=${this.startedAt}`, {}],
        ['GET', 'events', {}],
        ['POST', 'payments', sent],
        ['POST', VERIFICATIONS, { body: this.payeeOf(CREDITED) }],
      ] as const) {
        const { status } = await this.send(method, path, { ...more, token });
        const request = `${method} /${path.replace(key, '{key}').replace(/\?.*/, '')}`;
        expectThat(
          status === 401 || status === 403 || (status === 404 && path === VERIFICATIONS),
          `Answer 401 to ${request} ${token ? 'with a wrong' : 'without a'} token.`,
        );
      }
    }
    const { status } = await this.send('GET', `payments/${key}`);
    expectThat(status === 404, 'Make no payment of a request that is refused.');
  }

  private async findsEndOfEvents(): Promise<void> {
    this.start = (await this.eventsFromStart()).at(-1)?.position;
  }

  private async accepts(): Promise<void> {
    const key = this.newKey();
    for (const [where, payment] of [
      ['the response to POST /payments', await this.make(key)],
      ['GET /payments/{key}', await this.find(key)],
    ] as const) {
      expectThat(payment.key === key, `Name the key of the payment in ${where}.`);
      expectThat(
        payment.amount === BigInt(AMOUNT) && payment.currency === this.account.currency,
        `Show amount and currency as sent in ${where}.`,
      );
    }
  }

  private async recognizesRepeats(): Promise<void> {
    const key = this.newKey();
    const first = await this.make(key);
    const again = await this.submit(key);
    expectThat(again.status === 202, `Answer 202 to a payment that is sent again, not ${again.status}.`);
    expectThat(
      paymentOf(again.body).acceptedAt === first.acceptedAt,
      'Keep the first payment of a key: acceptedAt has changed.',
    );
    const count = (await this.allPayments()).filter((payment) => payment.key === key).length;
    expectThat(count === 1, `Make one payment of a key that is sent twice, not ${count}.`);
  }

  private async refusesOtherContent(): Promise<void> {
    const key = this.newKey();
    await this.make(key);
    for (const [what, changes] of [
      ['another amount', { amount: '54321' }],
      ['another creditor', { creditor: { name: 'Other Payee', account: OUT_OF_ORDER } }],
    ] as const) {
      const { status } = await this.submit(key, changes);
      expectThat(status === 409, `Answer 409 to a known key with ${what}, not ${status}.`);
    }
    expectThat((await this.find(key)).amount === BigInt(AMOUNT), 'Keep the amount of the first payment of a key.');
  }

  private async refusesWithoutKey(): Promise<void> {
    const { status } = await this.send('POST', 'payments', { body: this.bodyOf(this.newKey(), CREDITED) });
    expectThat(status === 400, `Answer 400 to a payment without Idempotency-Key, not ${status}.`);
  }

  private async refusesAmounts(): Promise<void> {
    for (const amount of ['0', '-1', '1.50', '1e3', '', 100]) {
      const key = this.newKey();
      const { status } = await this.submit(key, { amount });
      expectThat(status === 400, `Answer 400 to the amount ${JSON.stringify(amount)}, not ${status}.`);
      const found = await this.send('GET', `payments/${key}`);
      expectThat(found.status === 404, 'Make no payment of a request that is refused.');
    }
  }

  private async knowsNoOtherKey(): Promise<void> {
    const { status } = await this.send('GET', `payments/${this.newKey()}`);
    expectThat(status === 404, `Answer 404 to an unknown key, not ${status}: after it, a payment is submitted again.`);
  }

  private async listsPayments(): Promise<void> {
    const keys = [this.newKey(), this.newKey()];
    for (const key of keys) await this.make(key);
    const listed = (await this.allPayments()).map(({ key }) => key);
    expectThat(
      keys.every((key) => listed.includes(key)),
      'List every payment that was accepted since acceptedSince.',
    );
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    expectThat(
      (await this.allPayments(tomorrow)).length === 0,
      'List no payment that was accepted before acceptedSince.',
    );
  }

  private async reports(account: string, status: 'ACCC' | 'RJCT'): Promise<void> {
    const key = this.newKey();
    await this.make(key, account);
    const events = await this.eventsOf(key, (found) => found.some(({ event }) => event.status === status), status);
    const final = events.find(({ event }) => FINAL.has(event.status));
    expectThat(final?.event.status === status, `Report no other final status than ${status} for this account.`);
    expectThat(status !== 'RJCT' || final?.event.reasonCode !== undefined, 'Give a rejection its reasonCode.');
    const shown = (await this.find(key)).events;
    expectThat(
      events.every(({ event }) =>
        shown.some((one) => one.providerEvent === event.providerEvent && one.status === event.status),
      ),
      'Show the events of the list in GET /payments/{key} too, with the same ids.',
    );
  }

  private async repeatsEvents(): Promise<void> {
    const key = this.newKey();
    await this.make(key, TWICE);
    const isTwice = (found: readonly ListedEvent[]) => {
      const names = found.map(({ event }) => `${event.providerEvent} ${event.status}`);
      return new Set(names).size < names.length && found.some(({ event }) => event.status === 'ACCC');
    };
    await this.eventsOf(key, isTwice, 'ACCC, and an event twice with one id,');
  }

  private async disordersEvents(): Promise<void> {
    const key = this.newKey();
    await this.make(key, OUT_OF_ORDER);
    const isDisordered = (found: readonly ListedEvent[]) => {
      const credited = found.findIndex(({ event }) => event.status === 'ACCC');
      const before = found.slice(0, credited).map(({ event }) => event.providerEvent);
      // An event that is listed again is not out of order.
      return (
        credited >= 0 &&
        found.slice(credited).some(({ event }) => !FINAL.has(event.status) && !before.includes(event.providerEvent))
      );
    };
    await this.eventsOf(key, isDisordered, 'ACCC, and after it an event that is not final,');
  }

  private async namesAmounts(): Promise<void> {
    const events = (await this.eventsFromStart()).filter(({ key }) => this.made.has(key));
    expectThat(events.length > 0, 'Report events: there are none after the payments of this run.');
    expectThat(
      events.every(({ amount, currency }) => amount === BigInt(AMOUNT) && currency === this.account.currency),
      'Give each event of the list the amount and currency of its payment.',
    );
  }

  private async repeatsPosition(): Promise<void> {
    // Each page of the first reading asks after a later position, and its end after the last one.
    const [first, second] = [await this.eventsFromStart(), await this.eventsFromStart()];
    const again = new Map(second.map((event) => [event.position, textOf(event)]));
    expectThat(this.read.size > 0, 'Report events: there are none after the payments of this run.');
    expectThat(
      [...this.read].every(([position, text]) => again.get(position) === text) &&
        first.every((event, index) => event.position === second[index]?.position),
      'List the same events after the same position, also when a later position was asked for: asking acknowledges nothing.',
    );
    const [earliest] = second;
    const next = (await this.eventsAfter(earliest?.position))[0];
    expectThat(
      next?.position === second[1]?.position,
      'List the events after a position, without that of the position.',
    );
  }

  private async endsItsWait(): Promise<void> {
    await this.eventsFromStart(1);
  }

  /** This part of the contract is optional: 404 says that the adapter does not have it. */
  private async verifiesPayees(): Promise<void> {
    const offered = await this.send('POST', VERIFICATIONS, { body: this.payeeOf(CREDITED) });
    if (offered.status === 404) return;
    for (const [account, wanted] of [
      [CREDITED, 'match'],
      [CLOSE_MATCH, 'close_match'],
      [NO_MATCH, 'no_match'],
    ] as const) {
      const { status, body } = await this.send('POST', VERIFICATIONS, { body: this.payeeOf(account) });
      expectThat(status === 200, `Answer 200 to POST /${VERIFICATIONS}, or 404 if you cannot tell, not ${status}.`);
      const { result } = verificationOf(body);
      expectThat(result === wanted, `Answer ${wanted} for the test account …${account.slice(-4)}, not ${result}.`);
    }
  }

  /** The events of a payment, once they are as wanted. */
  private async eventsOf(
    key: string,
    isWanted: (events: readonly ListedEvent[]) => boolean,
    wanted: string,
  ): Promise<readonly ListedEvent[]> {
    const found: ListedEvent[] = [];
    const end = performance.now() + this.patienceMs;
    for await (const page of this.pages(5)) {
      found.push(...page.filter((event) => event.key === key));
      if (isWanted(found)) break;
      expectThat(
        performance.now() < end,
        `Report ${wanted} within ${this.patienceMs / 1_000} s for the test account ${wanted === 'RJCT' ? '…9001' : 'of this check'}.`,
      );
    }
    return found;
  }

  private async eventsFromStart(waitS = 0): Promise<readonly ListedEvent[]> {
    const events: ListedEvent[] = [];
    for await (const page of this.pages(waitS)) {
      if (page.length === 0) break;
      events.push(...page);
    }
    return events;
  }

  /** The events since the start of the run; an empty page where there is none after the last one. */
  private async *pages(waitS: number): AsyncGenerator<readonly ListedEvent[], void> {
    const positions = new Set<string>();
    for (let pages = 0, last = this.start; pages < PAGES_MAX;) {
      const page = await this.eventsAfter(last, waitS);
      for (const event of page) {
        expectThat(!positions.has(event.position), 'Give each event of the list a position of its own.');
        positions.add(event.position);
        const isKnown = this.read.has(event.position) || !this.made.has(event.key);
        if (!isKnown) this.read.set(event.position, textOf(event));
      }
      yield page;
      last = page.at(-1)?.position ?? last;
      if (page.length > 0) pages += 1;
    }
    throw new Unmet(`End the list of events: it had more than ${PAGES_MAX} pages.`);
  }

  private async eventsAfter(position: string | undefined, waitS = 0): Promise<readonly ListedEvent[]> {
    const query = new URLSearchParams({ wait: waitS.toString(), ...(position !== undefined && { after: position }) });
    const { status, body } = await this.send('GET', `events?${query}`, { waitMs: waitS * 1_000 });
    expectThat(status === 200, `Answer 200 to GET /events, not ${status}.`);
    return listedEventsOf(body);
  }

  private async allPayments(acceptedSince = this.startedAt) {
    const payments = [];
    for (let pages = 0, last: string | undefined; pages < PAGES_MAX; pages += 1) {
      const query = new URLSearchParams({ acceptedSince, ...(last !== undefined && { after: last }) });
      const { status, body } = await this.send('GET', `payments?${query}`);
      expectThat(status === 200, `Answer 200 to GET /payments, not ${status}.`);
      const page = paymentsOf(body, last);
      if (page.length === 0) return payments;
      payments.push(...page);
      last = page.at(-1)?.key;
    }
    throw new Unmet('End the list of payments with an empty page.');
  }

  private newKey(): string {
    this.keys += 1;
    return `${this.run}-${this.keys.toString().padStart(3, '0')}`;
  }

  private bodyOf(key: string, account: string): Body {
    const { id, bic, holder, currency } = this.account;
    return {
      ...{ uetr: uetrOf(key), amount: AMOUNT, currency },
      ...{ debtor: { name: holder, account: id, bic } },
      creditor: { name: 'Test Payee', account, routing: { type: 'SWIFT', code: 'INGDDEFF' } },
      ...{ remittanceInformation: 'Conformance check', purpose: 'IR001' },
    };
  }

  private payeeOf(account: string): Body {
    return { name: 'Test Payee', account, currency: this.account.currency };
  }

  /** A payment that the adapter must accept. */
  private async make(key: string, account = CREDITED): Promise<SubmittedPayment> {
    this.made.add(key);
    const { status, body } = await this.submit(key, {}, account);
    expectThat(status === 202, `Answer 202 to a payment, not ${status}.`);
    return paymentOf(body);
  }

  /** A payment that the adapter must have. */
  private async find(key: string): Promise<SubmittedPayment> {
    const { status, body } = await this.send('GET', `payments/${key}`);
    expectThat(status === 200, `Answer 200 to GET /payments/{key} of a known key, not ${status}.`);
    return paymentOf(body);
  }

  private submit(key: string, changes: Body = {}, account = CREDITED): Promise<Answer> {
    const body = { ...this.bodyOf(key, account), ...changes };
    return this.send('POST', 'payments', { body, headers: { 'idempotency-key': key } });
  }

  private async send(
    method: 'GET' | 'POST',
    path: string,
    more: {
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
      /** Undefined for none; left out for that of the rail. */
      readonly token?: string | undefined;
      readonly waitMs?: number;
    } = {},
  ): Promise<Answer> {
    const { body, headers, waitMs = 0 } = more;
    const token = 'token' in more ? more.token : readSecretFile(this.rail.tokenFile);
    const limits = { bytesMax: BYTES_MAX, timeoutMs: (this.rail.timeoutMs ?? CALL_MS) + waitMs };
    const response = await boundedFetch(`${this.rail.url.replace(/\/$/, '')}/${path}`, limits, {
      method,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : parsed(text) };
  }
}

/** What has to be the same each time an event is listed at its position. */
const textOf = ({ key, event }: ListedEvent): string => JSON.stringify([key, event]);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Unmet('Send bodies as JSON.');
  }
}
