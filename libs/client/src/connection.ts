import { Refusal } from '@banking/domain';
import { type Credential, credentialOf, type CredentialOption, sendable } from './credentials.js';
import { Deadline } from './deadline.js';
import { ConnectionError, OutcomeUnknownError } from './errors.js';
import { attemptOf, type Hooks, tell } from './hooks.js';
import { MovedPaths } from './moved-paths.js';
import { leavesDoubt, mayTryAgain, pauseMs, RETRIES_DEFAULT, RETRIES_MAX } from './policy.js';
import { type Answer, type Inspect, requestIdOf } from './read-answer.js';
import { type Call, type CallOptions, nameOf, type RequestSigner, type Transport } from './sending.js';

/** Where the service is and how to speak to it. */
export interface ConnectionOptions {
  /** Where the paths of the interface begin; it may have a path of its own, `https://host/banking`. */
  readonly baseUrl: string | URL;
  /** The access token, or what gives a current one; asked before every try. */
  readonly token: CredentialOption;
  /** For one call with all its tries, the token and the pauses included, to the last byte of the answer. */
  readonly timeoutMs?: number | undefined;
  /** How many times a call is tried again, where that cannot do harm. 0 to send everything once. */
  readonly retries?: number | undefined;
  /** What to send with, instead of the platform's own `fetch`. */
  readonly fetch?: Transport | undefined;
  /** Signs every try. */
  readonly signer?: RequestSigner | undefined;
  /** Sees every try and every pause. */
  readonly hooks?: Hooks | undefined;
  /** Looks at every success before it is handed out. */
  readonly inspect?: Inspect | undefined;
}

const TIMEOUT_DEFAULT_MS = 10_000;
/** More than a 32-bit timer holds would be over at once. */
const TIMEOUT_MAX_MS = 2_147_483_647;

/** Carries calls out: all its policy is in `call`. The token stays inside: it is in no message and cannot be inspected. */
export class Connection {
  readonly #base: URL;
  readonly #credential: Credential;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #fetch: Transport;
  readonly #signer: RequestSigner | undefined;
  readonly #hooks: Hooks;
  readonly #inspect: Inspect | undefined;
  readonly #paths = new MovedPaths();

  constructor({ baseUrl, token, timeoutMs, retries = RETRIES_DEFAULT, hooks = {}, ...plugs }: ConnectionOptions) {
    if (!Number.isInteger(retries) || retries < 0 || retries > RETRIES_MAX) {
      throw new TypeError(`retries is a whole number from 0 to ${RETRIES_MAX}.`);
    }
    this.#base = folder(baseUrl);
    this.#credential = credentialOf(token);
    this.#timeoutMs = usable(timeoutMs ?? TIMEOUT_DEFAULT_MS);
    this.#retries = retries;
    this.#fetch = plugs.fetch ?? globalThis.fetch;
    this.#signer = plugs.signer;
    this.#hooks = hooks;
    this.#inspect = plugs.inspect;
  }

  /**
   * Carries out one call: tries until there is an answer, until another try could do harm or would come too late. All
   * tries are the same request, with the same key.
   *
   * @throws as `read`; ConnectionError without a complete answer; OutcomeUnknownError where one of the tries may have
   *   been carried out and none has said so.
   */
  async call<T>(call: Call, read: (answer: Answer) => T, { signal, timeoutMs }: CallOptions = {}): Promise<T> {
    signal?.throwIfAborted();
    const deadline = new Deadline(usable(timeoutMs ?? this.#timeoutMs), signal);
    let mayBeDone = false;
    try {
      // Once, before anything is waited for: what the caller does with the object meanwhile is another wish.
      const body = call.body && JSON.stringify(call.body);
      for (let tries = 1; ; tries += 1) {
        let answer: Answer | undefined;
        try {
          answer = await this.#paths.send(call, (at) => this.#try(at, body, tries, deadline));
          return read(answer);
        } catch (failure) {
          const status = answer?.response.status;
          mayBeDone ||= leavesDoubt(call, failure, status);
          const pause = pauseMs(tries, failure, Math.random());
          if (tries > this.#retries || !mayTryAgain(call, failure, status) || !deadline.leaves(pause)) throw failure;
          tell(this.#hooks.retry, { ...attemptOf(call, tries + 1), pauseMs: pause, error: failure });
          if (!(await deadline.pause(pause))) throw failure;
        }
      }
    } catch (cause) {
      if (!mayBeDone) throw signal?.aborted ? signal.reason : cause;
      const { idempotencyKey } = call;
      const advice = idempotencyKey === undefined ? 'Read how things stand.' : 'Send the same again with the same key.';
      throw new OutcomeUnknownError(`Whether ${nameOf(call)} was carried out is not known. ${advice}`, {
        cause,
        idempotencyKey,
      });
    } finally {
      deadline.end();
    }
  }

  /** One try; after a 401, which carries nothing out, once more with another token where there is one. */
  async #try(call: Call, body: string | undefined, attempt: number, deadline: Deadline): Promise<Answer> {
    const token = await this.#token(call, deadline, this.#credential.token());
    const answer = await this.#send(call, body, attempt, deadline, token);
    if (answer.response.status !== 401) return answer;
    const other = await this.#token(call, deadline, this.#credential.renewed(token));
    return other === token ? answer : this.#send(call, body, attempt, deadline, other);
  }

  async #token(call: Call, deadline: Deadline, asked: Promise<string>): Promise<string> {
    return sendable(await obtained('access token', call, deadline, asked));
  }

  async #send(
    call: Call,
    body: string | undefined,
    number: number,
    deadline: Deadline,
    token: string,
  ): Promise<Answer> {
    const url = new URL(call.path, this.#base);
    const plain = headersOf(call);
    const headers = this.#signer
      ? await obtained('signature', call, deadline, sign(this.#signer, call, url, body, plain))
      : plain;
    const { before, after } = this.#hooks;
    const attempt = attemptOf(call, number);
    tell(before, attempt);
    const startedAtMs = performance.now();
    const end = (how: object) => {
      if (after) tell(after, { ...attempt, durationMs: performance.now() - startedAtMs, ...how });
    };
    // Not called as a method: in a browser fetch insists on its own `this`.
    const fetch = this.#fetch;
    try {
      // Within the deadline also where what sends does not heed the signal.
      const response = await deadline.within(
        fetch(url, {
          method: call.method,
          headers: { ...headers, Authorization: `Bearer ${token}` },
          ...(body !== undefined && { body }),
          // A redirect would carry the token to a place nobody chose.
          redirect: 'manual',
          credentials: 'omit',
          cache: 'no-store',
          signal: deadline.signal,
          call,
        }),
      );
      const bytes = await deadline.within(response.arrayBuffer());
      const hide = (text: string) => text.replaceAll(token, '[token]');
      end({ status: response.status, requestId: requestIdOf(response, hide) });
      return { call, response, bytes, hide, inspect: this.#inspect };
    } catch (cause) {
      const error = cause instanceof Refusal ? cause : this.#broken(call, cause, deadline);
      end({ error });
      throw error;
    }
  }

  #broken(call: Call, cause: unknown, { timedOut, timeoutMs }: Deadline): ConnectionError {
    const { origin } = this.#base;
    const code = codeOf(cause);
    const message = timedOut
      ? `${nameOf(call)} had no complete answer from ${origin} within ${timeoutMs} ms.`
      : `${nameOf(call)} had no complete answer from ${origin}: ${code ?? 'the connection failed'}.`;
    return new ConnectionError(message, { cause, timedOut, neverSent: !timedOut && NEVER_SENT.test(code ?? '') });
  }
}

/** What has to be had before anything is sent. @throws ConnectionError when it does not come in time */
async function obtained<T>(what: string, call: Call, deadline: Deadline, asked: Promise<T>): Promise<T> {
  try {
    return await deadline.within(asked);
  } catch (cause) {
    if (!deadline.timedOut) throw cause;
    const message = `${nameOf(call)} had no ${what} within ${deadline.timeoutMs} ms.`;
    throw new ConnectionError(message, { cause, timedOut: true, neverSent: true });
  }
}

async function sign(
  signer: RequestSigner,
  { method }: Call,
  url: URL,
  text: string | undefined,
  headers: Readonly<Record<string, string>>,
) {
  const body = text === undefined ? undefined : new TextEncoder().encode(text);
  const signature = await signer({ method, url, headers, body });
  // What no header can carry is said here, where nothing has been sent.
  new Headers(signature);
  return { ...headers, ...signature };
}

/** What a platform says before a request has left: no address, nobody there, a certificate that is not believed. */
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

function usable(timeoutMs: number): number {
  if (Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= TIMEOUT_MAX_MS) return timeoutMs;
  throw new TypeError(`timeoutMs is a whole number of milliseconds from 1 to ${TIMEOUT_MAX_MS}.`);
}

/** A base as a folder that paths can be resolved against. */
function folder(baseUrl: string | URL): URL {
  // The platform's own error would quote all of it.
  if (!URL.canParse(baseUrl)) throw new TypeError('The baseUrl is not an absolute URL.');
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol)) throw new TypeError('The baseUrl is not http or https.');
  const { username, password, search, hash } = url;
  if (username + password + search + hash) throw new TypeError('The baseUrl has a name, a password, a query or a fragment.'); // prettier-ignore
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/** The system's word for what happened, `ECONNREFUSED`, where the platform gives one. */
function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 5; depth += 1) {
    const { code, cause } = at as { readonly code?: unknown; readonly cause?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code)) return code;
    at = cause;
  }
  return undefined;
}
