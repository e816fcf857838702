import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { LocalIssuer } from '@banking/local-issuer';
import { openImplementation } from '../../open-implementation.js';
import { readConfig } from '../../config.js';
import { createApp } from '../../create-app.js';
import { Draining } from '../../health/readiness.js';
import { loggerOptions } from '@banking/process';

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
