import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { LocalIssuer } from '@banking/process/local-issuer';
import { loggerOptions } from '@banking/process';
import { readConfig } from '../../config.js';
import { createApp, openImplementation } from '../../create-app.js';
import { Draining } from '../../health/readiness.js';

/** The response to a request: a status with a body, or an action on the connection. */
export type Script =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | ((request: IncomingMessage, response: ServerResponse) => void);

/** Two users of one app: an admin of workspace 1, and a user without a role. */
const USERS = [
  {
    id: 1,
    email: 'ada@bank.example',
    status: 'completed',
    edges: { roles: [{ id: 1, role: 'admin', edges: { workspace: { id: 1, name: 'Bank' } } }] },
  },
  { id: 2, email: 'bob@bank.example', status: 'completed', edges: { roles: [] } },
];

const LISTS: Readonly<Record<string, Script>> = {
  'GET /apps': { status: 200, body: [{ id: 1, name: 'Bank' }] },
  'GET /apps/1/users': { status: 200, body: USERS },
};

/** An HTTP server that acts as another deployment of the interface, as the spec scripts it. */
export async function scriptedUpstream() {
  const scripts = new Map(Object.entries(LISTS));
  const received: { readonly method: string; readonly path: string; readonly headers: IncomingMessage['headers'] }[] =
    [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const [path = ''] = url.split('?');
    received.push({ method, path, headers });
    request.resume();
    const script = scripts.get(`${method} ${path}`) ?? { status: 404, body: 'nothing here' };
    if (typeof script === 'function') script(request, response);
    else request.on('end', () => send(response, script));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    /** @param call such as `GET /apps` */
    says(call: string, script: Script): void {
      scripts.set(call, script);
    },
    /** Restores the two lists, and deletes the received requests. */
    reset(): void {
      scripts.clear();
      for (const [call, script] of Object.entries(LISTS)) scripts.set(call, script);
      received.length = 0;
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, { status, body, headers }: Exclude<Script, (...args: never) => void>): void {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
  response.end(isText || body === undefined ? body : JSON.stringify(body));
}

/** A log line. */
type LogLine = Readonly<Record<string, unknown>> & { readonly level: string; readonly msg: string };

/** A gateway in front of an upstream. It listens in this process. */
export async function gatewayOf(upstreamUrl: string, environment: Readonly<Record<string, string>> = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-'));
  const settings = {
    PORT: '0',
    DATA_DIR: dataDir,
    UPSTREAM_URL: upstreamUrl,
    UPSTREAM_TOKEN: 'ours',
    LOG_LEVEL: 'warn',
    // All callers of a spec share one address.
    CONNECTIONS_PER_ADDRESS: '1000',
  };
  const config = readConfig({ ...settings, ...environment }, false);
  const lines: LogLine[] = [];
  const log = pino(loggerOptions(config.logLevel), { write: (line) => void lines.push(JSON.parse(line) as LogLine) });
  const implementation = await openImplementation(config, log);
  const app = await createApp({ config, implementation, log, draining: new Draining() });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const issuer = await LocalIssuer.open(dataDir);
  const tokens = new Map<string, Promise<string>>();
  const tokenOf = (email: string) => {
    const token = tokens.get(email) ?? issuer.sign({ email, audience: 'banking-api', lifetimeSeconds: 600 });
    tokens.set(email, token);
    return token;
  };
  const headersOf = async (email = 'ada@bank.example') => ({
    authorization: `Bearer ${await tokenOf(email)}`,
    'workspace-id': '1',
    'content-type': 'application/json',
  });
  return {
    url,
    dataDir,
    backing: implementation,
    lines,
    headersOf,
    /** Sends a request of a user to workspace 1. */
    async send(call: string, init: RequestInit = {}, email?: string) {
      const [method = 'GET', path = ''] = call.split(' ');
      const headers = await headersOf(email);
      return fetch(`${url}${path}`, {
        method,
        ...init,
        headers: { ...headers, ...(init.headers as Record<string, string>) },
      });
    },
    async close(): Promise<void> {
      await app.close();
      await implementation.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

type Gateway = Awaited<ReturnType<typeof gatewayOf>>;

/** Runs a gateway during `use`. */
export async function withGatewayOf<T>(
  upstreamUrl: string,
  environment: Readonly<Record<string, string>>,
  use: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const gateway = await gatewayOf(upstreamUrl, environment);
  try {
    return await use(gateway);
  } finally {
    await gateway.close();
  }
}

export const ORDER = { method: 'POST', body: JSON.stringify({ amount: '5000', recipientID: 1, type: 'instant' }) };
export const PLACE = 'POST /accounts/1/orders';
export const READ = 'GET /transfers/42';

export const MESSAGES = {
  upstream_error: 'The upstream service failed or returned an invalid response.',
  upstream_timeout: 'The upstream service did not respond in time.',
  unavailable: 'The service is temporarily unavailable. The request was not executed.',
};

export const refused = (status: number, reason: string, more = {}) => ({
  status,
  body: { errorCode: 'unprocessable', message: 'No.', reason, requestId: 'theirs', ...more },
});

/** A gateway in front of a scripted upstream. One serves all tests of a spec: Nest has one logger in a process. */
export async function scriptedGateway(environment: Readonly<Record<string, string>> = {}) {
  const upstream = await scriptedUpstream();
  const gateway = await gatewayOf(upstream.url, environment);

  /** Returns the response to a caller for a response of the upstream. */
  async function responseTo(call: string, script: Script, init: RequestInit = {}, by = gateway) {
    upstream.says(call, script);
    const response = await by.send(call, { ...init, headers: { 'x-request-id': 'ours', ...init.headers } });
    const body = (await response.json()) as Record<string, unknown>;
    return { response, status: response.status, body, retryAfter: response.headers.get('retry-after') };
  }

  return {
    upstream,
    gateway,
    responseTo,
    /** Returns the response of a new gateway with the default timeout. */
    async responseOfNewGateway(call: string, script: Script, init?: RequestInit) {
      const other = await gatewayOf(upstream.url);
      return responseTo(call, script, init, other).finally(() => other.close());
    },
    /** The last line but those of requests. */
    lastLine: () => gateway.lines.findLast(({ msg }) => msg !== 'request'),
    /** Ends with a success, which resets the count of consecutive failures. */
    async reset(): Promise<void> {
      upstream.reset();
      const { status } = await responseTo('GET /accounts', { status: 200, body: [] });
      if (status !== 200) throw new Error(`the gateway responds ${status}`);
      upstream.received.length = 0;
      gateway.lines.length = 0;
    },
    async close(): Promise<void> {
      await gateway.close();
      await upstream.close();
    },
  };
}
