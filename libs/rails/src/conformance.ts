import { randomUUID } from 'node:crypto';
import { uetrOf } from '@banking/payouts';
import { boundedFetch, readSecretFile } from '@banking/process';
import { AdapterMessageError, type ListedEvent, listedEventsOf, paymentOf, paymentsOf } from './adapter-messages.js';
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
const CREDITED = 'DE71500105170000000000';
const REJECTED = 'DE40500105170000009001';
const TWICE = 'DE82500105170000009021';
const OUT_OF_ORDER = 'DE55500105170000009022';

const BYTES_MAX = 2 * 1024 * 1024;
const CALL_MS = 10_000;
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

/** Checks an adapter in its test mode against the contract. It makes test payments, so never run it against an adapter that moves money. */
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
  const reason = name === 'TimeoutError' ? `it did not answer in ${CALL_MS / 1_000} s` : (cause?.code ?? name);
  return `Serve at the url of the rail: ${reason}.`;
}

class Conformance {
  private readonly account: BankAccount;
  /** Unique for the run, and so that keys of the run are in the order in which they are made. */
  private readonly run = `check-${Date.now()}-${randomUUID().slice(0, 8)}`;
  private readonly startedAt = new Date(Date.now() - 60_000).toISOString();
  private keys = 0;
  /** The place in the list of events at which the run has begun. */
  private start: string | undefined;

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
      ['reports events out of order in its test mode', () => this.reports(OUT_OF_ORDER, 'ACCC')],
      ['reports the same events again after the same position', () => this.repeatsPosition()],
      ['answers within its wait when there is no event', () => this.endsItsWait()],
    ];
  }

  private async refusesStrangers(): Promise<void> {
    for (const token of [undefined, 'another token']) {
      const { status } = await this.send('GET', 'payments/none', { token });
      expectThat(
        status === 401 || status === 403,
        `Answer 401 to a request ${token ? 'with a wrong' : 'without a'} token.`,
      );
    }
  }

  private async findsEndOfEvents(): Promise<void> {
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const last = (await this.eventsAfter(this.start)).at(-1);
      if (!last) return;
      this.start = last.position;
    }
    throw new Unmet(`End the list of events: it had more than ${PAGES_MAX} pages.`);
  }

  private async accepts(): Promise<void> {
    const key = this.newKey();
    const { status, body } = await this.submit(key);
    expectThat(status === 202, `Answer 202 to a payment, not ${status}.`);
    for (const [where, payment] of [
      ['the response to POST /payments', paymentOf(body)],
      ['GET /payments/{key}', paymentOf((await this.send('GET', `payments/${key}`)).body)],
    ] as const) {
      expectThat(payment.key === key, `Name the key of the payment in ${where}.`);
      expectThat(
        payment.amount === 12_345n && payment.currency === this.account.currency,
        `Show amount and currency as sent in ${where}.`,
      );
    }
  }

  private async recognizesRepeats(): Promise<void> {
    const key = this.newKey();
    const first = paymentOf((await this.submit(key)).body);
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
    await this.submit(key);
    const { status } = await this.submit(key, { amount: '54321' });
    expectThat(status === 409, `Answer 409 to a known key with another amount, not ${status}.`);
    const kept = paymentOf((await this.send('GET', `payments/${key}`)).body);
    expectThat(kept.amount === 12_345n, 'Keep the amount of the first payment of a key.');
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
    for (const key of keys) await this.submit(key);
    const listed = (await this.allPayments()).map(({ key }) => key);
    expectThat(
      keys.every((key) => listed.includes(key)),
      'List every payment that was accepted since acceptedSince.',
    );
  }

  private async reports(account: string, status: 'ACCC' | 'RJCT'): Promise<void> {
    const key = this.newKey();
    await this.submit(key, {}, account);
    const events = await this.eventsOf(key, (found) => found.some(({ event }) => event.status === status), status);
    const final = events.find(({ event }) => event.status === status);
    expectThat(status !== 'RJCT' || final?.event.reasonCode !== undefined, 'Give a rejection its reasonCode.');
    const shown = paymentOf((await this.send('GET', `payments/${key}`)).body).events;
    expectThat(
      events.every(({ event }) =>
        shown.some((one) => one.providerEvent === event.providerEvent && one.status === event.status),
      ),
      'Show the events of the list in GET /payments/{key} too, with the same ids.',
    );
  }

  private async repeatsEvents(): Promise<void> {
    const key = this.newKey();
    await this.submit(key, {}, TWICE);
    const isTwice = (found: readonly ListedEvent[]) => {
      const names = found.map(({ event }) => `${event.providerEvent} ${event.status}`);
      return new Set(names).size < names.length;
    };
    await this.eventsOf(key, isTwice, 'an event twice, with one id');
  }

  private async repeatsPosition(): Promise<void> {
    const [first, second] = [await this.eventsAfter(this.start), await this.eventsAfter(this.start)];
    expectThat(first.length > 0, 'Report events: there are none after the payments of this run.');
    const positions = (events: readonly ListedEvent[]) => events.map(({ position }) => position);
    const repeated = positions(second).slice(0, first.length);
    expectThat(
      positions(first).every((position, index) => position === repeated[index]),
      'List the same events after the same position, until the caller asks after a later one.',
    );
    expectThat(new Set(positions(first)).size === first.length, 'Give each event of the list a position of its own.');
  }

  private async endsItsWait(): Promise<void> {
    let last = this.start;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const events = await this.eventsAfter(last, 1);
      if (events.length === 0) return;
      last = events.at(-1)?.position;
    }
    throw new Unmet('End the list of events.');
  }

  /** The events of a payment, once they are as wanted. */
  private async eventsOf(
    key: string,
    isWanted: (events: readonly ListedEvent[]) => boolean,
    wanted: string,
  ): Promise<readonly ListedEvent[]> {
    const found: ListedEvent[] = [];
    const end = performance.now() + this.patienceMs;
    for (let last = this.start; ;) {
      const events = await this.eventsAfter(last, 5);
      last = events.at(-1)?.position ?? last;
      found.push(...events.filter((event) => event.key === key));
      if (isWanted(found)) return found;
      expectThat(
        performance.now() < end,
        `Report ${wanted} within ${this.patienceMs / 1_000} s for the test account ${wanted === 'RJCT' ? '…9001' : 'of this check'}.`,
      );
    }
  }

  private async eventsAfter(position: string | undefined, waitS = 0): Promise<readonly ListedEvent[]> {
    const query = new URLSearchParams({ wait: waitS.toString(), ...(position !== undefined && { after: position }) });
    const { status, body } = await this.send('GET', `events?${query}`, { waitMs: waitS * 1_000 });
    expectThat(status === 200, `Answer 200 to GET /events, not ${status}.`);
    return listedEventsOf(body);
  }

  private async allPayments() {
    const payments = [];
    for (let pages = 0, last: string | undefined; pages < PAGES_MAX; pages += 1) {
      const query = new URLSearchParams({ acceptedSince: this.startedAt, ...(last !== undefined && { after: last }) });
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
      ...{ uetr: uetrOf(key), amount: '12345', currency },
      ...{ debtor: { name: holder, account: id, bic } },
      creditor: { name: 'Test Payee', account, routing: { type: 'SWIFT', code: 'INGDDEFF' } },
      ...{ remittanceInformation: 'Conformance check', purpose: 'IR001' },
    };
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
    const limits = { bytesMax: BYTES_MAX, timeoutMs: CALL_MS + waitMs };
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Unmet('Send bodies as JSON.');
  }
}
