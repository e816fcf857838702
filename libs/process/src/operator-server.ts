import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** A response to a probe or a scraper. */
export interface OperatorResponse {
  readonly status: number;
  /** An object is sent as JSON. */
  readonly body: object | string;
  /** The media type of a text. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An HTTP server for supervisors, probes and scrapers. */
export interface OperatorServer {
  readonly port: number;
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 64;

/**
 * Serves GET and HEAD of these paths. It has no authentication, so it listens on a loopback address or in a private network.
 *
 * @throws Error of `node:net` if the port cannot be listened on
 */
export async function serveOperators(
  { host, port }: ServerAddress,
  routes: Readonly<Record<string, () => Promise<OperatorResponse>>>,
): Promise<OperatorServer> {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      void responseTo(request, routes).then((outcome) => send(response, outcome));
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      // A later error, such as too many open files, concerns one connection. Without a listener it would end the process.
      server.off('error', reject).on('error', () => undefined);
      resolve();
    });
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function responseTo(
  { method, url }: IncomingMessage,
  routes: Readonly<Record<string, () => Promise<OperatorResponse>>>,
): Promise<OperatorResponse> {
  const path = url?.split('?')[0] ?? '';
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (!route) return { status: 404, body: { status: 'not_found' } };
  if (method !== 'GET' && method !== 'HEAD') {
    return { status: 405, body: { status: 'method_not_allowed' }, headers: { Allow: 'GET, HEAD' } };
  }
  // The error may contain a value that does not belong into a response.
  return route().catch(() => ({ status: 500, body: { status: 'failed' } }));
}

function send(response: ServerResponse, { status, body, type = 'application/json', headers }: OperatorResponse): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
