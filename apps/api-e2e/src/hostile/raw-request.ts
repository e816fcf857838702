import { connect, type Socket } from 'node:net';
import { faultsIn } from '../contract/shapes.js';

/** An answer as it came over the wire. */
export interface RawResponse {
  /** Undefined when the connection was closed without a word. */
  readonly status: number | undefined;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Milliseconds until the server closed the connection. */
  readonly closedAfterMs: number;
}

/** What is sent: a line each, in the order given, so that headers can be repeated and broken. */
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

/** Sends bytes, UTF-8, on a connection of their own and answers with what came until the server closed it. */
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
    // A server that has said its word may reset what the client goes on sending.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.on('close', () => resolve(parsed(Buffer.concat(chunks).toString('utf8'), performance.now() - startedAt)));
  });
}

/** One request and its answer, on a connection that ends with it. */
export function sendRawRequest(url: string, request: RawRequest): Promise<RawResponse> {
  const headers = request.headers ?? [];
  const host = headers.some((line) => /^host:/i.test(line)) ? [] : [`Host: ${new URL(url).host}`];
  return sendRaw(url, requestBytes({ ...request, headers: [...host, ...headers, 'Connection: close'] }));
}

/** Everything an error may not say: a stack, a statement, a place on our disk, a word of the libraries we are made of. */
const INSIDE =
  /\bat .+:\d+:\d+|node_modules|\.[jt]s:\d+|\bselect\b.+\bfrom\b|\binsert into\b|SQLSTATE|ECONN|FST_|ERR_|HPE_|JWS|JWT|\/(?:tmp|usr|home|var|root)\//i;

/** What is wrong with an error answer: it must be JSON in the published form, and say nothing of our inside. */
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
