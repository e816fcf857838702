import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { faultsIn } from '../contract/shapes.js';

/** A response as received. */
export interface RawResponse {
  /** Undefined if the connection was closed without a response. */
  readonly status: number | undefined;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Milliseconds until the server closed the connection. */
  readonly closedAfterMs: number;
}

/** Header lines in the given order, so that headers can be repeated and malformed. */
export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** The service closes the connection of a silent client after fifteen seconds at most, of a broken request at once. */
const SILENCE_MS = 30_000;

export function requestBytes({ method = 'GET', path, headers = [], body = '' }: RawRequest): string {
  return [`${method} ${path} HTTP/1.1`, ...headers, '', body].join('\r\n');
}

/** Sends bytes in UTF-8 on a new connection, and returns everything received until the server closes it. */
export function sendRaw(url: string, bytes: string, then?: (socket: Socket) => void): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => {
      socket.write(bytes);
      then?.(socket);
    });
    socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error(`nothing happened in ${SILENCE_MS} ms`)));
    socket.on('data', (chunk) => chunks.push(chunk));
    // A server that has responded may reset the connection while the client still sends.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.on('close', () => resolve(parsed(Buffer.concat(chunks).toString('utf8'), performance.now() - startedAt)));
  });
}

/** One request and its response, on a connection that then closes. */
export function sendRawRequest(url: string, request: RawRequest): Promise<RawResponse> {
  const headers = request.headers ?? [];
  const host = headers.some((line) => /^host:/i.test(line)) ? [] : [`Host: ${new URL(url).host}`];
  return sendRaw(url, requestBytes({ ...request, headers: [...host, ...headers, 'Connection: close'] }));
}

/** Internal details that an error may not contain: a stack, an SQL statement, a path, or text of a library. */
const INSIDE =
  /\bat (?:[^\n]*\()?(?:\/|file:|node:)\S*:\d+:\d+|node_modules|\.[jt]s:\d+|\bselect\b.+\bfrom\b|\binsert into\b|SQLSTATE|ECONN|FST_|ERR_|HPE_|JWS|JWT|\/(?:tmp|usr|home|var|root)\//i;

/** The faults in an error response, which must be JSON in the published form without internal details. */
export function faultsInError({ status, headers, body }: RawResponse): string[] {
  const faults: string[] = [];
  if (!/^application\/json\b/.test(headers.get('content-type') ?? '')) faults.push('it is not JSON');
  if (INSIDE.test(body)) faults.push(`it tells of our inside: ${body}`);
  if (body === '') return [...faults, 'it has no body'];
  try {
    const error = JSON.parse(body) as { requestId?: unknown };
    faults.push(...faultsIn(error, 'ErrorBody'));
    if (error.requestId !== headers.get('x-request-id')) faults.push('its requestId is not the X-Request-Id');
  } catch {
    faults.push(`${status} has a body that cannot be read: ${body.slice(0, 200)}`);
  }
  return faults;
}

function parsed(text: string, closedAfterMs: number): RawResponse {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end < 0 ? undefined : end).split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1];
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return {
    status: status === undefined ? undefined : Number(status),
    headers,
    body: end < 0 ? '' : text.slice(end + 4),
    closedAfterMs,
  };
}

/** A request as sent, with header lines in the given order. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Longer than the time in which the service responds in any case. */
const RESPONSE_MS = 30_000;

/** Sends requests on connections that are kept open. */
export class HttpSender {
  private readonly agent: Agent;

  constructor(
    private readonly url: string,
    connections: number,
    localAddress?: string,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: connections, ...(localAddress && { localAddress }) });
  }

  /** @throws Error if there is no response */
  async send({ method, path, headers, body }: SentRequest): Promise<ReceivedResponse> {
    const { hostname, port } = new URL(this.url);
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    return new Promise((resolve, reject) => {
      const sent = request(
        { hostname, port, method, path, headers: { ...headers, ...length }, agent: this.agent, timeout: RESPONSE_MS },
        (response) => {
          const values = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
          text(response)
            .then((received) => resolve({ status: response.statusCode ?? 0, headers: new Map(values), body: received }))
            .catch(reject);
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`no response in ${RESPONSE_MS} ms`)));
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
