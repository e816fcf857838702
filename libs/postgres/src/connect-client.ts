import { Client, type ClientConfig, type QueryConfig } from 'pg';
import { asConnectionFailure, isUnavailable, READ_ONLY_SERVER } from './failures.js';
import { type ConnectionOptions, hostsIn, takePassword } from './hosts.js';

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects a client that is used without a pool. Of several hosts, it takes the first that accepts writes.
 *
 * @throws Refusal `unavailable` when none can be reached; the failure is that of the last one.
 * @throws DatabaseSetupError when a server does not accept the login.
 */
export async function connectClient(connection: ConnectionOptions, options: ClientConfig): Promise<Client> {
  const hosts = hostsIn(connection);
  const timeoutMs = options.connectionTimeoutMillis ?? CONNECT_TIMEOUT_MS;
  let failure: unknown;
  for (const host of hosts) {
    const client = new Client({ ...options, connectionTimeoutMillis: timeoutMs, ...host });
    takePassword(client, host);
    // Without a listener, a broken connection would end the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (hosts.length > 1) await expectWritable(client, timeoutMs);
      return client;
    } catch (error) {
      client.end().catch(() => undefined);
      failure = asConnectionFailure(error);
      if (!isUnavailable(failure)) throw failure;
    }
  }
  throw failure;
}

async function expectWritable(client: Client, timeoutMs: number): Promise<void> {
  // A host may accept a connection and never answer.
  const query = {
    text: `select current_setting('transaction_read_only') = 'on' as is_read_only`,
    query_timeout: timeoutMs,
  } as QueryConfig;
  const { rows } = await client.query<{ is_read_only: boolean }>(query);
  if (rows[0]?.is_read_only !== false) throw new Error(READ_ONLY_SERVER);
}
