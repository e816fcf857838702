import { Agent, type IncomingHttpHeaders, request } from 'node:http';

/** The api processes and the caller. */
export interface Endpoint {
  readonly token: string;
  url(api: number): string;
  /** Called with every response, or failure, and the time it took. */
  readonly onReceived?: (received: Received, options: CallOptions) => void;
  /** Gets a new token after an api has refused the present one with 401. */
  readonly renewToken?: (api: number) => Promise<void>;
}

/** A response, or the error of a request without one. */
export interface Received {
  readonly status?: number;
  readonly headers?: IncomingHttpHeaders;
  readonly body: string;
  readonly error?: string;
  /** From the request to the last byte of the response. */
  readonly ms: number;
}

export interface CallOptions {
  readonly api: number;
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly workspaceId: number;
  readonly key?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** The service responds within 15 seconds. A client waits longer, so that a later response is seen to be late. */
const DEADLINE_MS = 20_000;

/** Connections are used again, as those of a client are. */
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

/** Sends one request. Never throws: the error of a connection is a result. */
export async function call({ token, url, onReceived }: Endpoint, options: CallOptions): Promise<Received> {
  const { api, method, path, workspaceId, key, body, signal } = options;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    Authorization: `Bearer ${token}`,
    'Workspace-ID': String(workspaceId),
    ...(text !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
    ...(key !== undefined && { 'Idempotency-Key': key }),
  };
  const until = AbortSignal.timeout(DEADLINE_MS);
  const received = await send(`${url(api)}${path}`, {
    ...{ method, headers, text },
    signal: signal === undefined ? until : AbortSignal.any([signal, until]),
  });
  onReceived?.(received, options);
  return received;
}

interface SendOptions {
  readonly method: string;
  readonly headers: Record<string, string | number>;
  readonly text?: string | undefined;
  readonly signal: AbortSignal;
}

/** Sends a request over a connection that is used again. Never throws. */
export function send(url: string, { method, headers, text, signal }: SendOptions): Promise<Received> {
  const beganAt = performance.now();
  return new Promise((resolve) => {
    const end = (result: Omit<Received, 'ms'>) => resolve({ ...result, ms: performance.now() - beganAt });
    const fail = (error: NodeJS.ErrnoException) => end({ body: '', error: error.code ?? error.name });
    try {
      const outgoing = request(url, { method, headers, agent, signal }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (piece: string) => (body += piece));
        response.on('error', fail);
        response.on('end', () => {
          const { statusCode, headers: received } = response;
          end({ body, headers: received, ...(statusCode !== undefined && { status: statusCode }) });
        });
      });
      outgoing.on('error', fail);
      outgoing.end(text);
    } catch (error) {
      fail(error as NodeJS.ErrnoException);
    }
  });
}
