import {
  type DeliveredRailEvent,
  type Payee,
  type PayeeVerification,
  type Payment,
  type Rail,
  type RailEvent,
  type SubmittedPayment,
  uetrOf,
} from '@banking/payouts';
import type { Database } from '@banking/postgres';
import { boundedFetch, fetchFailure, readSecretFile, SecretFileError } from '@banking/process';
import { OutageError, WorkError } from '@banking/work-queue';
import {
  AdapterMessageError,
  eventPageOf,
  paymentOf,
  paymentsOf,
  rejectionOf,
  verificationOf,
} from './adapter-messages.js';
import { RailInbox } from './rail-inbox.js';
import type { HttpRailConfig } from './rail-config.js';

/** For a call. Below the deadline of a payout, so that the payout is delayed and uses no try. */
const TIMEOUT_MS = 8_000;

/** How long an adapter may wait for an event before it responds. */
const WAIT_S = 10;

/** The largest response that is read. */
const BYTES_MAX = 2 * 1024 * 1024;

/** ISO 20022 ExternalStatusReason1Code: the bank has this payment already, so the money must not go back. */
const DUPLICATE = 'AM05';

interface Call {
  readonly method?: 'POST';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Added to the time for the call. */
  readonly waitMs?: number;
  /** The statuses of responses with a meaning in the contract. */
  readonly expected: readonly number[];
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * A payment network behind a bank adapter, with the contract of http-rail.openapi.json. Nothing that the adapter says is trusted: what is
 * not of the form of the contract is an outage, after which a payment is found by its key before it is submitted again.
 *
 * A failure is an `OutageError` where the adapter serves no payment, and a `WorkError` where an operator has to decide about one.
 */
export class HttpRail implements Rail {
  private readonly inbox: RailInbox;

  constructor(
    private readonly config: HttpRailConfig,
    database: Database,
  ) {
    this.inbox = new RailInbox(database, config.name);
  }

  async submit(payment: Payment, signal: AbortSignal): Promise<readonly RailEvent[]> {
    const { status, body } = await this.call(
      {
        method: 'POST',
        path: 'payments',
        headers: { 'idempotency-key': payment.key },
        body: this.bodyOf(payment),
        expected: [202, 409, 422],
      },
      signal,
    );
    if (status === 409) throw new WorkError(`${this.name} has a payment of this key with other content`);
    if (status === 422) {
      const rejection = rejectionOf(body);
      if (rejection?.reasonCode === DUPLICATE) {
        throw new WorkError(
          `${this.name} reports a duplicate (${DUPLICATE}): the bank may have the payment, so ask it`,
        );
      }
      if (rejection) return [rejection];
      throw new WorkError(`${this.name} refused the payment without a status and a reason code (422)`);
    }
    const accepted = this.read(() => paymentOf(body));
    if (accepted.key !== payment.key) throw this.outage('its response is about another payment');
    if (accepted.amount !== payment.amount || accepted.currency !== payment.currency) {
      throw new WorkError(`${this.name} has the payment with another amount or currency: run banking work reconcile`);
    }
    return accepted.events;
  }

  async find(key: string, signal: AbortSignal): Promise<SubmittedPayment | undefined> {
    const path = `payments/${encodeURIComponent(key)}`;
    const { status, body } = await this.call({ path, expected: [200, 404] }, signal);
    if (status === 404) return undefined;
    const found = this.read(() => paymentOf(body));
    if (found.key !== key) throw this.outage('its response is about another payment');
    return found;
  }

  async listSubmitted(
    since: string,
    after: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly SubmittedPayment[]> {
    const query = { acceptedSince: since, after };
    const { body } = await this.call({ path: 'payments', query, expected: [200] }, signal);
    return this.read(() => paymentsOf(body, after));
  }

  /** Events that are stored come first, so that a backlog is recorded before more is read. */
  async receive(limit: number, signal?: AbortSignal): Promise<readonly DeliveredRailEvent[]> {
    const stored = await this.inbox.take(limit);
    if (stored.length > 0) return stored;
    const cursor = await this.inbox.lease();
    if (!cursor) return [];
    try {
      const query = { after: cursor.position, wait: WAIT_S.toString() };
      const call = { path: 'events', query, waitMs: WAIT_S * 1_000, expected: [200] };
      const { body } = await this.call(call, signal);
      const page = this.read(() => eventPageOf(body));
      await this.inbox.store(cursor, page);
      if (page.misfits[0] !== undefined) throw this.outage(`an event is not of the contract: ${page.misfits[0]}`);
    } catch (error) {
      if (!signal?.aborted) throw error;
    } finally {
      await this.inbox.release(cursor);
    }
    return this.inbox.take(limit);
  }

  acknowledge(events: readonly DeliveredRailEvent[]): Promise<void> {
    return this.inbox.delete(events.map(({ id }) => id));
  }

  /** Undefined for an adapter without this part of the contract. */
  async verifyPayee(payee: Payee, signal: AbortSignal): Promise<PayeeVerification | undefined> {
    const { name, account, routing, bankCountry: country, currency } = payee;
    const { status, body } = await this.call(
      {
        method: 'POST',
        path: 'payee-verifications',
        body: { name, account, routing, country, currency },
        expected: [200, 404],
      },
      signal,
    );
    return status === 404 ? undefined : this.read(() => verificationOf(body));
  }

  private bodyOf({ key, amount, currency, creditor, description, purpose }: Payment): unknown {
    const account = this.config.accounts.find((one) => one.currency === currency);
    if (!account) {
      throw new WorkError(`${this.name} has no account in the currency of the payment: add it to RAILS_FILE`);
    }
    const { id, bic, holder } = account;
    return {
      ...{ uetr: uetrOf(key), amount: amount.toString(), currency },
      debtor: { name: holder, account: id, bic },
      creditor: {
        ...{ name: creditor.name, account: creditor.account, routing: creditor.routing },
        address: addressOf(creditor),
      },
      ...{ remittanceInformation: description, purpose },
    };
  }

  private async call(call: Call, signal?: AbortSignal): Promise<Answer> {
    const { method, path, query = {}, headers, body, waitMs = 0, expected } = call;
    const url = new URL(`${this.config.url.replace(/\/$/, '')}/${path}`);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    const limits = { bytesMax: BYTES_MAX, timeoutMs: (this.config.timeoutMs ?? TIMEOUT_MS) + waitMs };
    const authorization = `Bearer ${this.token()}`;
    const response = await boundedFetch(url, limits, {
      ...(method && { method }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headers: {
        ...{ accept: 'application/json', authorization, ...headers },
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      redirect: 'manual',
      ...(signal && { signal }),
    }).catch((error: unknown) => {
      throw this.outage(fetchFailure(error), error);
    });
    const { status } = response;
    if (expected.includes(status)) return { status, body: await this.bodyAsRead(response) };
    // These are about the network and no payment, so no payout uses a try.
    if (status === 401 || status === 403) throw this.outage('it refused our token, see its tokenFile');
    if (status >= 300 && status < 400) throw this.outage('it redirects, which is refused: correct its url');
    if (status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429) {
      throw new WorkError(
        `${this.name} refused the request (${status}): see the log of its adapter for the reason, and correct the adapter`,
      );
    }
    throw this.outage(`it answered ${status}`);
  }

  /** A 404 and a 409 need no body. */
  private async bodyAsRead(response: Response): Promise<unknown> {
    const { status } = response;
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer())) as unknown;
    } catch {
      if (status >= 400) return undefined;
      throw this.outage('its response is not JSON');
    }
  }

  private read<Value>(parse: () => Value): Value {
    try {
      return parse();
    } catch (error) {
      if (error instanceof AdapterMessageError)
        throw this.outage(`its response is not of the contract: ${error.message}`);
      throw error;
    }
  }

  /** Read at each call, so that a new token needs no restart. */
  private token(): string {
    try {
      return readSecretFile(this.config.tokenFile);
    } catch (error) {
      if (!(error instanceof SecretFileError)) throw error;
      throw this.outage(`its tokenFile ${error.message}`);
    }
  }

  private outage(reason: string, cause?: unknown): OutageError {
    return new OutageError(`${this.name} does not serve: ${reason}`, { cause });
  }

  private get name(): string {
    return `the rail ${this.config.name}`;
  }
}

/** An address in elements is written as a text too, where the recipient has none. */
function addressOf({ address, country, postalAddress }: Payment['creditor']) {
  const text = address ?? (postalAddress && textOf(postalAddress));
  return text === undefined ? undefined : { text, country, ...postalAddress };
}

type PostalAddress = NonNullable<Payment['creditor']['postalAddress']>;

const textOf = ({ streetName, buildingNumber, postCode, townName }: PostalAddress): string =>
  [
    [streetName, buildingNumber],
    [postCode, townName],
  ]
    .map((line) => line.filter((part) => part !== undefined).join(' '))
    .filter((line) => line !== '')
    .join(', ');
