import { type LookupAddress, promises } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { WebhookAttemptError } from '@banking/domain';
import { type AddressPolicy, isRefusedAddress } from './address-policy.js';
import { isLocalName, LOOPBACK_ADDRESSES } from './url-policy.js';

/** The begin of a response as text: valid UTF-8 of so many bytes at most, with spaces in place of control characters. */
function textOf(response: Uint8Array, bytesMax: number): string {
  // A character that is cut at the limit is left out. Other invalid bytes become U+FFFD, which may take more bytes.
  const text = new TextDecoder('utf-8').decode(response.subarray(0, bytesMax), { stream: true });
  return text.replace(/\p{Cc}/gu, ' ');
}

/** Resolves a name to all its addresses. */
export type ResolveName = (hostname: string) => Promise<readonly LookupAddress[]>;

interface NameResolverOptions {
  /** Name servers, such as `127.0.0.1:53`. Default: those of the system. */
  readonly servers?: readonly string[] | undefined;
  /** For a name, whatever its servers do. Default 1,500, which is less than a connection may take. */
  readonly resolveMs?: number | undefined;
}

/** Of one question; each further try takes longer. */
const TRY_MS = 500;
const TRIES = 3;

/**
 * Asks name servers without the threads of libuv: its look-up of the system has a few threads for the whole process, and those that wait for a
 * silent name server keep deliveries of other tenants and connections to the database waiting. Requests for one name share their questions.
 */
export function nameResolver({ servers, resolveMs = 1_500 }: NameResolverOptions = {}): ResolveName {
  const pending = new Map<string, Promise<readonly LookupAddress[]>>();
  return (hostname) => {
    const asked = pending.get(hostname);
    if (asked) return asked;
    const answer = ask(hostname, { servers, resolveMs }).finally(() => pending.delete(hostname));
    pending.set(hostname, answer);
    return answer;
  };
}

async function ask(hostname: string, { servers, resolveMs }: NameResolverOptions): Promise<readonly LookupAddress[]> {
  // One resolver for a name, because a cancellation ends all questions of a resolver.
  const resolver = new promises.Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), resolveMs);
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  clearTimeout(timer);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  const addressesOf = (answer: PromiseSettledResult<string[]>, family: number) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
  return [...addressesOf(four, 4), ...addressesOf(six, 6)];
}

/** The result of one request. */
export interface AttemptResult {
  readonly durationMs: number;
  /** Missing without a response. */
  readonly responseStatus?: number;
  /** The begin of the response. */
  readonly response?: string;
  /** Why there is no response, or why it was not read to its end. */
  readonly error?: WebhookAttemptError;
}

interface OutboundRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Ends the request, which then counts as not made. */
  readonly signal: AbortSignal;
  /** Whether the receiver gets it once in any case. It costs a connection. */
  readonly isOnce: boolean;
}

export interface OutboundOptions extends AddressPolicy {
  /** For the connection, with the look-up of its name. Default 2,000. */
  readonly connectMs?: number | undefined;
  /** For the whole request. Default 15,000. */
  readonly timeoutMs?: number | undefined;
  /** Resolves names. Default: by the name servers of the system. */
  readonly resolve?: ResolveName | undefined;
  /** Certificates that are trusted besides those of Node, in PEM. */
  readonly ca?: string | undefined;
}

const RESPONSE_BYTES_MAX = 16_384;
const SHOWN_BYTES = 1_024;
/** Connections to one origin that stay open while idle, and for how long. */
const IDLE_SOCKETS_MAX = 32;
const IDLE_MS = 10_000;

/** How requests of a scheme are sent. */
interface Transport {
  readonly send: typeof https.request;
  /** Keeps connections open, for all endpoints of an origin. */
  readonly pooled: http.Agent;
  /** Makes a connection for each request. */
  readonly own: http.Agent;
}

/** The request was ended by its signal. */
export class RequestAbortedError extends Error {
  override readonly name = 'RequestAbortedError';
}

/**
 * Sends webhooks. The addresses of a host are checked when its connection is made, because a name may resolve to another address than at an
 * earlier check. Follows no redirects, and reads no variables of proxies.
 */
export class Outbound {
  private readonly transports: Readonly<Record<string, Transport>>;
  private readonly timeoutMs: number;
  private readonly connectMs: number;

  constructor(private readonly options: OutboundOptions) {
    this.timeoutMs = options.timeoutMs ?? 15_000;
    this.connectMs = options.connectMs ?? 2_000;
    const own = { keepAlive: false, lookup: checkedLookup(options), ca: options.ca };
    const pooled = { ...own, keepAlive: true, maxFreeSockets: IDLE_SOCKETS_MAX, timeout: IDLE_MS };
    this.transports = {
      'http:': {
        pooled: new http.Agent(pooled),
        own: new http.Agent(own),
        send: http.request as typeof https.request,
      },
      'https:': { pooled: new https.Agent(pooled), own: new https.Agent(own), send: https.request },
    };
  }

  /** Sends a POST. Never rejects because of the receiver. @throws RequestAbortedError */
  async post(request: OutboundRequest): Promise<AttemptResult> {
    const startedMs = performance.now();
    const result = await this.exchange(request, startedMs);
    return { durationMs: Math.round(performance.now() - startedMs), ...result };
  }

  /** Closes the idle connections. */
  close(): void {
    for (const { pooled } of Object.values(this.transports)) pooled.destroy();
  }

  private async exchange(request: OutboundRequest, startedMs: number): Promise<Omit<AttemptResult, 'durationMs'>> {
    const url = new URL(request.url);
    const address = url.hostname.replace(/^\[(.*)\]$/, '$1');
    // The lookup of a connection is not called for an address.
    if (isIP(address) !== 0 && isRefusedAddress(address, this.options)) return { error: 'connection_failed' };
    const transport = this.transports[url.protocol];
    if (transport === undefined) return { error: 'connection_failed' };
    const leftMs = () => this.timeoutMs - (performance.now() - startedMs);
    if (!request.isOnce) {
      const { isStale, ...result } = await this.send(url, request, transport.send, transport.pooled, leftMs());
      if (!isStale) return result;
    }
    // A receiver closes idle connections, at times just as a request is sent. A receiver that reads the request and closes looks the same, so
    // the request is sent again once: RFC 9110, 9.2.2 advises against a repeat of a repeat. On a connection that was never idle, a failure
    // is the receiver's answer.
    return this.send(url, request, transport.send, transport.own, leftMs());
  }

  private send(
    url: URL,
    { headers, body, signal }: OutboundRequest,
    send: Transport['send'],
    agent: http.Agent,
    leftMs: number,
  ): Promise<Omit<AttemptResult, 'durationMs'> & { readonly isStale?: boolean }> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(new RequestAbortedError());
      const length = { 'Content-Length': String(Buffer.byteLength(body)) };
      const request = send(url, { method: 'POST', agent, headers: { ...headers, ...length } });
      let response: http.IncomingMessage | undefined;
      const chunks: Buffer[] = [];
      let bytes = 0;
      let connecting: NodeJS.Timeout | undefined;
      // A receiver that has sent a status has the request: whatever becomes of its body, that status is the result.
      const resultOr = (error: WebhookAttemptError) =>
        response === undefined
          ? { error }
          : { responseStatus: response.statusCode ?? 0, response: textOf(Buffer.concat(chunks), SHOWN_BYTES) };
      const finish = (settle: () => void) => {
        clearTimeout(connecting);
        clearTimeout(deadline);
        signal.removeEventListener('abort', abort);
        settle();
      };
      const fail = (error: WebhookAttemptError) => {
        finish(() => resolve(resultOr(error)));
        request.destroy();
      };
      const abort = () => {
        finish(() => reject(new RequestAbortedError()));
        request.destroy();
      };
      const deadline = setTimeout(() => fail('timeout'), Math.max(leftMs, 0));
      signal.addEventListener('abort', abort);
      request.on('socket', (socket) => {
        if (!socket.connecting) return;
        // As for an address that is refused or refuses, so that the attempts of a workspace do not explore a network.
        connecting = setTimeout(() => fail('connection_failed'), this.connectMs);
        socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
      });
      request.on('response', (incoming) => {
        response = incoming;
        incoming.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes - chunk.length < SHOWN_BYTES) chunks.push(chunk);
          if (bytes > RESPONSE_BYTES_MAX) fail('connection_failed');
        });
        incoming.on('end', () => finish(() => resolve(resultOr('connection_failed'))));
        incoming.on('error', () => fail('connection_failed'));
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        const isStale = request.reusedSocket && response === undefined && isReset(error);
        finish(() => resolve(isStale ? { isStale } : resultOr(errorOf(error))));
      });
      // Such as after a response 101, for which there is no listener.
      request.on('close', () => finish(() => resolve(resultOr('connection_failed'))));
      request.end(body);
    });
  }
}

const isReset = ({ code }: NodeJS.ErrnoException) => code === 'ECONNRESET' || code === 'EPIPE';

function errorOf(error: NodeJS.ErrnoException): WebhookAttemptError {
  const { code = '' } = error;
  return /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_|UNABLE_|EPROTO|HOSTNAME_)/.test(code)
    ? 'tls_failed'
    : 'connection_failed';
}

/** Resolves a name, and fails if any of its addresses is refused: an attacker may mix them. */
function checkedLookup({ resolve = nameResolver(), ...policy }: OutboundOptions): LookupFunction {
  const addressesOf: ResolveName = async (hostname) => {
    const addresses = isLocalName(hostname) ? LOOPBACK_ADDRESSES : await resolve(hostname);
    if (addresses.length === 0 || addresses.some(({ address }) => isRefusedAddress(address, policy)))
      throw new Error('The host has no address, or one that is refused.');
    return addresses;
  };
  return (hostname, { all }, callback) =>
    void addressesOf(hostname).then(
      (addresses) =>
        all ? callback(null, [...addresses]) : callback(null, addresses[0]!.address, addresses[0]!.family),
      (error: Error) => callback(error, '', 0),
    );
}
