import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** The state that the health server reports. */
export interface HealthSource {
  /** Whether the worker is stopping. */
  isStopping(): boolean;
  /** The state of the queue. Rejects if the database cannot be reached. */
  readStatus(): Promise<object>;
  /** The open stop of payouts. Rejects if the database cannot be reached. */
  readPayoutStop(): Promise<{ readonly stoppedAt: string; readonly findings: number } | undefined>;
}

export interface HealthAddress {
  readonly host: string;
  readonly port: number;
}

/** An HTTP server for supervisors and probes. */
export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 5_000;
const STOP_REASON = 'A verification of the books has findings. Run banking verify.';

/**
 * Serves `GET /health/live` and `GET /health/ready`. Reports parked work. The worker stays ready with parked work,
 * because a restart would not release it. It is not ready while payouts are stopped, so that supervisors notice.
 *
 * @throws Error of `node:net` if the port cannot be listened on
 */
export async function serveHealth({ host, port }: HealthAddress, source: HealthSource): Promise<HealthServer> {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    (req, res) => {
      void respond(req, res, source);
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
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

async function respond(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  source: HealthSource,
): Promise<void> {
  const path = url?.split('?')[0];
  if (path !== '/health/live' && path !== '/health/ready') return send(response, 404, { status: 'not_found' });
  if (method !== 'GET' && method !== 'HEAD') {
    return send(response, 405, { status: 'method_not_allowed' }, { Allow: 'GET, HEAD' });
  }
  if (path === '/health/live') return send(response, 200, { status: 'ok' });
  if (source.isStopping()) return send(response, 503, { status: 'stopping' }, { 'Retry-After': '1' });
  try {
    const [work, stop] = await Promise.all([source.readStatus(), source.readPayoutStop()]);
    if (!stop) return send(response, 200, { status: 'ok', work });
    const { stoppedAt, findings } = stop;
    send(response, 503, { status: 'payouts_stopped', reason: STOP_REASON, stoppedAt, findings, work });
  } catch {
    send(response, 503, { status: 'unavailable' }, { 'Retry-After': '1' });
  }
}

function send(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers });
  response.end(JSON.stringify(body));
}
