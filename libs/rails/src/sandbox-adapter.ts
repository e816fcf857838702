import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { isInstant, minorUnits } from '@banking/domain';
import { canonicalJson, type CanonicalValue } from '@banking/domain/proof';
import { type Payment, SandboxRail, sandboxMessage, type SubmittedPayment } from '@banking/payouts';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { WorkError } from '@banking/work-queue';
import { FORMS, LISTED_MAX } from './adapter-messages.js';

const ADD_REQUEST = sqlStatement(
  'add_sandbox_rail_request',
  'insert into sandbox_rail_request (key, fingerprint) values ($1, $2) on conflict (key) do nothing',
);

const FIND_REQUEST = sqlStatement<{ fingerprint: Buffer }>(
  'find_sandbox_rail_request',
  'select fingerprint from sandbox_rail_request where key = $1',
);

/** One adapter at a time lists events, so that their ids become visible in their order. */
const LOCK_LIST = sqlStatement(
  'lock_sandbox_rail_listed',
  `select pg_advisory_xact_lock(hashtextextended('sandbox_rail_listed', 0))`,
);

const LIST_EVENTS = sqlStatement(
  'add_sandbox_rail_listed',
  `insert into sandbox_rail_listed (key, provider_event, status, reason_code)
   select u.key, u.provider_event, u.status, u.reason_code
   from unnest($1::text[], $2::text[], $3::text[], $4::text[]) with ordinality u(key, provider_event, status, reason_code, place)
   order by u.place`,
);

const READ_LISTED = sqlStatement<{
  id: bigint;
  key: string;
  provider_event: string;
  status: string;
  reason_code: string | null;
  amount: bigint;
  currency: string;
}>(
  'read_sandbox_rail_listed',
  `select l.id, l.key, l.provider_event, l.status, l.reason_code, p.amount, p.currency
   from sandbox_rail_listed l join sandbox_rail_payment p on p.key = l.key
   where l.id > $1 order by l.id limit ${LISTED_MAX}`,
);

const BODY_BYTES_MAX = 65_536;
const WAIT_MAX_S = 30;
const POLL_MS = 200;

export interface SandboxAdapterOptions {
  /** A database of a sandbox, which remembers payments and events. */
  readonly database: Database;
  /** The bearer token that callers send. */
  readonly token: string;
  /** How much of the delays of events is waited for. Default 1. */
  readonly pace?: number;
}

/** A request that the contract refuses, with its status. */
class RefusedRequest extends Error {
  constructor(
    readonly status: number,
    readonly body: Readonly<Record<string, string>>,
  ) {
    super(`refused with ${status}`);
  }
}

const refused = (status: number, message: string) => new RefusedRequest(status, { message });

/**
 * The sandbox network as a bank adapter with the contract of http-rail.openapi.json: the end of the creditor's account selects the outcome,
 * as in a sandbox. The caller listens and closes.
 */
export function sandboxAdapter(options: SandboxAdapterOptions): Server {
  const adapter = new SandboxAdapter(options);
  return createServer((request, response) => void adapter.serve(request, response));
}

class SandboxAdapter {
  private readonly rail: SandboxRail;

  constructor(private readonly options: SandboxAdapterOptions) {
    this.rail = new SandboxRail(options.database, 'adapter', options.pace);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    try {
      const { status, body } = await this.answer(request, gone.signal);
      send(response, status, body);
    } catch (error) {
      // The caller has left, or the outcome of the account is a silent network.
      if (gone.signal.aborted) response.destroy();
      else if (error instanceof RefusedRequest) send(response, error.status, error.body);
      else if (error instanceof WorkError) send(response, 503, { message: error.message });
      else send(response, 500, { message: 'The adapter failed.' });
    }
  }

  private async answer(request: IncomingMessage, signal: AbortSignal): Promise<{ status: number; body: unknown }> {
    if (!this.isAuthorized(request)) throw refused(401, 'The bearer token is missing or wrong.');
    const url = new URL(request.url ?? '/', 'http://adapter');
    if (request.method === 'POST' && url.pathname === '/payee-verifications') {
      const { name, account, currency } = membersOf(parsed(await textOf(request)));
      if (!isOf(/./, name) || !isOf(/./, account) || !isOf(FORMS.currency, currency)) {
        throw refused(400, 'name, account or currency is missing.');
      }
      return { status: 200, body: await this.rail.verifyPayee({ name, account, currency }, signal) };
    }
    const [, list, key] = /^\/(payments|events)(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    if (request.method === 'POST' && list === 'payments' && key === undefined) {
      return { status: 202, body: await this.take(request, signal) };
    }
    if (request.method !== 'GET' || list === undefined) throw refused(404, 'There is no such resource.');
    if (list === 'events') return { status: 200, body: { events: await this.events(url.searchParams, signal) } };
    if (key === undefined) return { status: 200, body: { payments: await this.payments(url.searchParams) } };
    const found = await this.rail.find(decodeURIComponent(key));
    if (!found) throw refused(404, 'There is no payment of this key.');
    return { status: 200, body: shown(found) };
  }

  private isAuthorized({ headers: { authorization = '' } }: IncomingMessage): boolean {
    const [sent, wanted] = [authorization, `Bearer ${this.options.token}`].map(sha256) as [Buffer, Buffer];
    return timingSafeEqual(sent, wanted);
  }

  private async take(request: IncomingMessage, signal: AbortSignal): Promise<unknown> {
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string' || !FORMS.key.test(key)) throw refused(400, 'Idempotency-Key is missing or malformed.');
    const text = await textOf(request);
    const body = parsed(text);
    const payment = paymentOf(key, body);
    const fingerprint = sha256(canonicalJson(body as CanonicalValue));
    const [, [first]] = await this.options.database.pipeline({}, [
      bind(ADD_REQUEST, key, fingerprint),
      bind(FIND_REQUEST, key),
    ] as const);
    if (!first?.fingerprint.equals(fingerprint)) throw refused(409, 'The key belongs to a payment of other content.');
    await this.rail.submit(payment, signal);
    const found = await this.rail.find(key);
    return found && shown(found);
  }

  private async payments(query: URLSearchParams): Promise<readonly unknown[]> {
    const since = query.get('acceptedSince') ?? '';
    if (!isInstant(since)) throw refused(400, 'acceptedSince is no time of RFC 3339.');
    return (await this.rail.listSubmitted(since, query.get('after') ?? undefined)).map(shown);
  }

  private async events(query: URLSearchParams, signal: AbortSignal): Promise<readonly unknown[]> {
    const place = query.get('after') ?? '0';
    if (!/^(0|[1-9][0-9]{0,15})$/.test(place)) throw refused(400, 'after is no position of this list.');
    const waitS = Math.min(Number(query.get('wait') ?? 0) || 0, WAIT_MAX_S);
    for (const end = performance.now() + waitS * 1_000; ; await after(POLL_MS, undefined, { signal })) {
      await this.list();
      const [rows] = await this.options.database.pipeline({}, [bind(READ_LISTED, place)] as const);
      if (rows.length === 0 && performance.now() < end) continue;
      return rows.map(({ id, key, provider_event, status, reason_code, amount, currency }) => ({
        ...{ position: id.toString(), key, amount: amount.toString(), currency, id: provider_event, status },
        reasonCode: reason_code ?? undefined,
        message: sandboxMessage(status, reason_code ?? undefined),
      }));
    }
  }

  /** Lists what the network has reported since. After a crash in between, an event is listed twice. */
  private async list(): Promise<void> {
    const events = await this.rail.receive(LISTED_MAX);
    if (events.length === 0) return;
    await this.options.database.pipeline({}, [
      bind(LOCK_LIST),
      bind(
        LIST_EVENTS,
        events.map(({ key }) => key),
        events.map(({ event }) => event.providerEvent),
        events.map(({ event }) => event.status),
        events.map(({ event }) => event.reasonCode ?? null),
      ),
    ]);
    await this.rail.acknowledge(events);
  }
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

function shown({ key, amount, currency, acceptedAt, events }: SubmittedPayment): unknown {
  const shownEvents = events.map(({ providerEvent: id, status, reasonCode, message }) => {
    return { id, status, reasonCode, message };
  });
  return { key, amount: amount.toString(), currency, acceptedAt, events: shownEvents };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw refused(413, 'The body is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A body as far as the outcome depends on it. The contract of other members is checked by a bank. */
function paymentOf(key: string, body: unknown): Payment {
  const { amount, currency, creditor } = membersOf(body);
  const { name, account } = membersOf(creditor);
  if (!isOf(FORMS.amount, amount)) throw refused(400, 'amount is no text of digits from 1, in minor units.');
  if (!isOf(FORMS.currency, currency)) throw refused(400, 'currency is no code of ISO 4217.');
  if (!isOf(/./, name) || !isOf(/./, account)) throw refused(400, 'creditor has no name or no account.');
  return { key, amount: minorUnits(BigInt(amount)), currency, creditor: { name, account } };
}

const isOf = (form: RegExp, value: unknown): value is string => typeof value === 'string' && form.test(value);

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw refused(400, 'The body is not JSON.');
  }
}
