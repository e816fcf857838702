import { ApprovalPending, Refusal } from '@banking/domain';
import { type Credential, credentialOf, type CredentialOption, sendable } from './credentials.js';
import { Deadline, mayBeExecuted, mayRetry, pauseMs, RETRIES_DEFAULT, RETRIES_MAX } from './retry-policy.js';
import { ConnectionError, OutcomeUnknownError } from './errors.js';
import { attemptOf, callHook, type Hooks } from './hooks.js';
import { type ReceivedResponse, type Inspect, requestIdOf, isJson, reasonOf } from './read-response.js';
import { traceHeaders, type TraceContextSource } from './trace-context.js';
import { type Call, type CallOptions, nameOf, type Transport } from './transport.js';

/** The service, and how the client calls it. */
export interface HttpTransportOptions {
  /** The URL that the paths of the interface are appended to. It may have a path: `https://host/banking`. */
  readonly baseUrl: string | URL;
  /** The access token, or a source of the current one, which is read before every attempt. */
  readonly token: CredentialOption;
  /** For one call: its token, all attempts and pauses, to the last byte of the response. 10,000 by default. */
  readonly timeoutMs?: number | undefined;
  /** The number of retries, where a retry is safe: 0 to 10, 2 by default. */
  readonly retries?: number | undefined;
  /** Replaces the `fetch` of the platform. */
  readonly fetch?: Transport | undefined;
  /** Called for every attempt and every retry. */
  readonly hooks?: Hooks | undefined;
  /** Checks every success before the call returns it. */
  readonly inspect?: Inspect | undefined;
  /** Returns the span that the requests belong to, so that the service continues its trace. Called for every attempt. */
  readonly traceContext?: TraceContextSource | undefined;
}

const TIMEOUT_DEFAULT_MS = 10_000;
/** The range of a timer. A longer one would fire at once. */
const TIMEOUT_MAX_MS = 2_147_483_647;

/** Sends calls, with deadline, retries and hooks. The token appears in no message and cannot be inspected. */
export class HttpTransport {
  readonly #base: URL;
  readonly #credential: Credential | string;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #fetch: Transport;
  readonly #hooks: Hooks;
  readonly #inspect: Inspect | undefined;
  readonly #traceContext: TraceContextSource | undefined;
  readonly #paths = new MovedPaths();

  constructor({ baseUrl, token, timeoutMs, retries = RETRIES_DEFAULT, hooks = {}, ...plugs }: HttpTransportOptions) {
    if (!Number.isInteger(retries) || retries < 0 || retries > RETRIES_MAX) {
      throw new TypeError(`retries must be a whole number from 0 to ${RETRIES_MAX}.`);
    }
    this.#base = withTrailingSlash(baseUrl);
    this.#credential = credentialOf(token);
    this.#timeoutMs = validTimeout(timeoutMs ?? TIMEOUT_DEFAULT_MS);
    this.#retries = retries;
    this.#fetch = plugs.fetch ?? globalThis.fetch;
    this.#hooks = hooks;
    this.#inspect = plugs.inspect;
    this.#traceContext = plugs.traceContext;
  }

  /**
   * Sends one call. It retries until a response is final, a retry is not safe, or the deadline is too near. All attempts
   * send the same request with the same key.
   *
   * @throws as `read`; ConnectionError without a complete response; OutcomeUnknownError if one of the attempts may have
   *   been executed and none has confirmed it.
   */
  async call<T>(
    named: Call,
    read: (received: ReceivedResponse) => T,
    { signal, timeoutMs, requestId = named.requestId }: CallOptions = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    const call = { ...named, requestId: validRequestId(requestId) };
    const deadline = new Deadline(validTimeout((timeoutMs ?? this.#timeoutMs) + (call.holdMs ?? 0)), signal);
    let isInDoubt = false;
    try {
      // Serialized once, before the first await, so that a later change of the object cannot alter a retry.
      const body = call.body && JSON.stringify(call.body, withoutBigInt);
      for (let attempt = 1; ; attempt += 1) {
        let received: ReceivedResponse | undefined;
        try {
          received = await this.#paths.send(call, (at) => this.#attempt(at, body, attempt, deadline));
          return read(received);
        } catch (failure) {
          const status = received?.response.status;
          isInDoubt ||= mayBeExecuted(call, failure, status);
          const pause = pauseMs(attempt, failure, Math.random());
          if (attempt > this.#retries || !mayRetry(call, failure, status) || !deadline.allows(pause)) throw failure;
          callHook(this.#hooks.retry, { ...attemptOf(call, attempt + 1), pauseMs: pause, error: failure });
          if (!(await deadline.pause(pause))) throw failure;
        }
      }
    } catch (cause) {
      // An attempt before it has stored the same request, with the same key.
      if (cause instanceof ApprovalPending) throw cause;
      if (!isInDoubt) throw signal?.aborted ? signal.reason : cause;
      const { idempotencyKey } = call;
      const advice =
        idempotencyKey === undefined ? 'Read the current state.' : 'Send the same request with the same key.';
      const message = `It is not known whether ${nameOf(call)} was executed. ${advice}`;
      throw new OutcomeUnknownError(message, { cause, idempotencyKey });
    } finally {
      deadline.dispose();
    }
  }

  /** One attempt. After a 401, which executes nothing, it sends once more if there is another token. */
  async #attempt(call: Call, body: string | undefined, attempt: number, deadline: Deadline): Promise<ReceivedResponse> {
    const send = (token: string) => this.#send(call, body, attempt, deadline, token);
    const credential = this.#credential;
    if (typeof credential === 'string') return send(credential);
    const tokenOf = (token: Promise<string>) => obtained(token, call, deadline).then(sendable);
    const token = await tokenOf(credential.token());
    const received = await send(token);
    if (received.response.status !== 401) return received;
    const other = await tokenOf(credential.renewed(token));
    return other === token ? received : send(other);
  }

  async #send(
    call: Call,
    body: string | undefined,
    number: number,
    deadline: Deadline,
    token: string,
  ): Promise<ReceivedResponse> {
    const url = new URL(call.path, this.#base);
    const headers = { ...headersOf(call), Authorization: `Bearer ${token}` };
    const { before, after } = this.#hooks;
    const attempt = attemptOf(call, number);
    callHook(before, attempt);
    // After `before`, which may begin the span of the attempt.
    if (this.#traceContext) Object.assign(headers, traceHeaders(this.#traceContext));
    const startedAtMs = performance.now();
    const end = (result: object) => {
      if (after) callHook(after, { ...attempt, durationMs: performance.now() - startedAtMs, ...result });
    };
    // Not called as a method: a browser's `fetch` requires its own `this`.
    const fetch = this.#fetch;
    try {
      // The deadline also ends a custom `fetch` that ignores the signal.
      const [response, bytes] = await deadline.within(
        fetch(url, {
          method: call.method,
          headers,
          ...(body !== undefined && { body }),
          // A redirect would send the token to another address.
          redirect: 'manual',
          credentials: 'omit',
          cache: 'no-store',
          signal: deadline.signal,
          call,
        }).then(async (response) => [response, await response.arrayBuffer()] as const),
      );
      const hide = (text: string) => text.replaceAll(token, '[token]');
      end({ status: response.status, requestId: requestIdOf(response, hide) });
      return { call, response, bytes, hide, inspect: this.#inspect };
    } catch (cause) {
      const error = cause instanceof Refusal ? cause : this.#connectionError(call, cause, deadline);
      end({ error });
      throw error;
    }
  }

  #connectionError(call: Call, cause: unknown, { timedOut, timeoutMs }: Deadline): ConnectionError {
    const { origin } = this.#base;
    const code = codeOf(cause);
    const message = timedOut
      ? `${nameOf(call)} had no complete response from ${origin} within ${timeoutMs} ms.`
      : `${nameOf(call)} had no complete response from ${origin}: ${code ?? 'the connection failed'}.`;
    return new ConnectionError(message, {
      cause,
      timedOut,
      neverSent: !timedOut && NEVER_SENT.test(code ?? ''),
      requestId: call.requestId,
    });
  }
}

/** Waits for the token. @throws ConnectionError at the deadline, when nothing was sent */
function obtained(token: Promise<string>, call: Call, deadline: Deadline): Promise<string> {
  return deadline.within(token).catch((cause: unknown) => {
    if (!deadline.timedOut) throw cause;
    const message = `${nameOf(call)} had no access token within ${deadline.timeoutMs} ms.`;
    throw new ConnectionError(message, { cause, timedOut: true, neverSent: true, requestId: call.requestId });
  });
}

/** Error codes of failures before a request is sent: no address, a refused connection, an untrusted certificate. */
const NEVER_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|UNABLE_TO_VERIFY.*|(?!ERR_SSL).*CERT.*)$/;

function headersOf({ body, workspaceId, requestId, idempotencyKey }: Call): Record<string, string> {
  return {
    Accept: 'application/json',
    ...(body && { 'Content-Type': 'application/json' }),
    ...(workspaceId !== undefined && { 'Workspace-ID': String(workspaceId) }),
    ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    ...(requestId !== undefined && { 'X-Request-Id': requestId }),
  };
}

function validRequestId(requestId: string | undefined): string | undefined {
  if (requestId === undefined || /^[\w.-]{1,128}$/.test(requestId)) return requestId;
  throw new TypeError('A requestId must be 1 to 128 characters of A-Z, a-z, 0-9, dot, dash and underscore.');
}

/** Refuses a bigint, which JSON does not have, by the name of its field. */
function withoutBigInt(name: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  throw new TypeError(
    `${name} must not be a bigint. Write an amount as a text of digits, with toTransferAmount of @banking/domain.`,
  );
}

function validTimeout(timeoutMs: number): number {
  if (Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= TIMEOUT_MAX_MS) return timeoutMs;
  throw new TypeError(`timeoutMs must be a whole number of milliseconds from 1 to ${TIMEOUT_MAX_MS}.`);
}

/** The base with a trailing slash, so that paths resolve below it. */
function withTrailingSlash(baseUrl: string | URL): URL {
  // The error of the platform would quote the URL, which may hold a password.
  if (!URL.canParse(baseUrl)) throw new TypeError('The baseUrl must be an absolute URL.');
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol)) throw new TypeError('The baseUrl must be http or https.');
  const { username, password, search, hash } = url;
  if (username + password + search + hash)
    throw new TypeError('The baseUrl must have no name, password, query or fragment.');
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/** The error code of the system, such as `ECONNREFUSED`, if the platform gives one. */
function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 5; depth += 1) {
    const { code, cause } = at as { readonly code?: unknown; readonly cause?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code)) return code;
    at = cause;
  }
  return undefined;
}

/** A 404 with one of these reasons comes from an existing path: the record is missing. */
const MISSING_RECORD = ['country_unknown', 'corridor_not_found'];

/**
 * Sends a call to the path that the deployment has: of the current interface, or of its former revision.
 *
 * A 404 without the reason of a missing record may mean that the path is unknown, so the other path is tried once. The
 * path of the first success is used from then on.
 */
class MovedPaths {
  /** The path of the first success, by operation. */
  readonly #known = new Map<string, 'path' | 'formerPath'>();

  async send(call: Call, send: (call: Call) => Promise<ReceivedResponse>): Promise<ReceivedResponse> {
    const { operation, path, formerPath } = call;
    if (formerPath === undefined) return send(call);
    const paths = { path, formerPath };
    const sendTo = async (name: keyof typeof paths) => {
      const received = await send({ ...call, path: paths[name] });
      if (isSuccess(received)) this.#known.set(operation, name);
      return received;
    };

    const known = this.#known.get(operation);
    const first = await sendTo(known ?? 'path');
    const isPathUnknown = first.response.status === 404 && !MISSING_RECORD.includes(reasonOf(first));
    if (!isPathUnknown || known === 'path') return first;
    const second = await sendTo(known === undefined ? 'formerPath' : 'path');
    return isSuccess(second) || isTransient(second) ? second : first;
  }
}

/** JSON, because a web server may answer every path with a page. */
const isSuccess = ({ response }: ReceivedResponse) => response.status === 200 && isJson(response);

/** A failure that does not depend on the path. */
const isTransient = ({ response: { status } }: ReceivedResponse) => status === 429 || status >= 500;
