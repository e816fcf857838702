import { ConnectionError } from './errors.js';
import type { Created, Page } from '@banking/domain';
import { type Answer, readAnswer, readNothing, readPage } from './read-answer.js';

/** Where the service is and how to speak to it. */
export interface ConnectionOptions {
  /** Where the paths of the interface begin; it may have a path of its own, `https://host/banking`. */
  readonly baseUrl: string | URL;
  /** The access token, or what gives a current one; a function is asked before every request. */
  readonly token: string | (() => string | Promise<string>);
  /** For one request, from its first byte to the last of the answer. Obtaining the token is not counted. */
  readonly timeoutMs?: number | undefined;
  /** What to send with, instead of the platform's own `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

type Headers = Readonly<Record<string, string>>;

const TIMEOUT_DEFAULT_MS = 10_000;
/** More than a 32-bit timer holds would be over at once. */
const TIMEOUT_MAX_MS = 2_147_483_647;

/** Sends one request and waits for its whole answer. The token stays inside: it is in no message and cannot be inspected. */
export class Connection {
  readonly #base: URL;
  readonly #token: () => string | Promise<string>;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  constructor({ baseUrl, token, timeoutMs = TIMEOUT_DEFAULT_MS, ...platform }: ConnectionOptions) {
    if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > TIMEOUT_MAX_MS) {
      throw new TypeError(`timeoutMs is a whole number of milliseconds from 1 to ${TIMEOUT_MAX_MS}.`);
    }
    if (typeof token !== 'function') sendable(token);
    this.#base = folder(baseUrl);
    this.#token = typeof token === 'function' ? token : () => token;
    this.#timeoutMs = timeoutMs;
    this.#fetch = platform.fetch ?? globalThis.fetch;
  }

  /** GET of a path relative to the base, already encoded. Refusals and errors as `readAnswer` and ConnectionError say. */
  async get(path: string, shape: 'array' | 'object', headers: Headers = {}): Promise<unknown> {
    return readAnswer(await this.#ask(path, headers), shape);
  }

  /** A request with a JSON body, answered by a record. */
  async send(method: 'POST' | 'PATCH', path: string, body?: object, headers: Headers = {}): Promise<unknown> {
    return readAnswer(await this.#ask(path, headers, method, body), 'object');
  }

  /** DELETE, answered by nothing. */
  async remove(path: string, headers: Headers = {}): Promise<void> {
    readNothing(await this.#ask(path, headers, 'DELETE'));
  }

  /** A POST that makes something: what was made, and whether this request made it. */
  async create(path: string, body: object, headers: Headers = {}): Promise<Created<unknown>> {
    const answer = await this.#ask(path, headers, 'POST', body);
    const isReplay = answer.response.headers.get('idempotent-replayed') === 'true';
    return { resource: readAnswer(answer, 'object'), isReplay };
  }

  /** GET of one page of a list. */
  async getPage(path: string, headers: Headers = {}): Promise<Page<unknown>> {
    return readPage(await this.#ask(path, headers));
  }

  async #ask(path: string, headers: Headers, method = 'GET', body?: object): Promise<Answer> {
    // Without the query: filters name people's accounts, and messages go to logs.
    const operation = `${method} /${path.split('?', 1)[0]}`;
    const token = sendable(await this.#token());
    const signal = AbortSignal.timeout(this.#timeoutMs);
    // Not called as a method: in a browser fetch insists on its own `this`.
    const fetch = this.#fetch;

    let response: Response;
    let bytes: ArrayBuffer;
    try {
      response = await fetch(new URL(path, this.#base), {
        method,
        headers: {
          Accept: 'application/json',
          Authorization: `Bearer ${token}`,
          ...(body && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body && { body: JSON.stringify(body) }),
        // A redirect would carry the token to a place nobody chose.
        redirect: 'manual',
        credentials: 'omit',
        cache: 'no-store',
        signal,
      });
      bytes = await response.arrayBuffer();
    } catch (cause) {
      throw this.#broken(operation, cause, signal.aborted);
    }
    return { operation, response, bytes, hide: (text) => text.replaceAll(token, '[token]') };
  }

  #broken(operation: string, cause: unknown, timedOut: boolean): ConnectionError {
    const { origin } = this.#base;
    const message = timedOut
      ? `${operation} had no complete answer from ${origin} within ${this.#timeoutMs} ms.`
      : `${operation} had no complete answer from ${origin}: ${codeOf(cause) ?? 'the connection failed'}.`;
    return new ConnectionError(message, { cause, timedOut });
  }
}

/** A base as a folder that paths can be resolved against. */
function folder(baseUrl: string | URL): URL {
  // The platform's own error would quote all of it.
  if (!URL.canParse(baseUrl)) throw new TypeError('The baseUrl is not an absolute URL.');
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol)) throw new TypeError('The baseUrl is not http or https.');
  if (url.username !== '' || url.password !== '') throw new TypeError('The baseUrl holds a name or a password.');
  if (url.search !== '' || url.hash !== '') throw new TypeError('The baseUrl has a query or a fragment.');
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/** The platform would quote a token it cannot send in its own message; so it is looked at first. */
function sendable(token: string): string {
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError('The access token is empty or has a character that no header can carry, such as a line break.');
  }
  return token;
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
