import { Client, type ClientConfig } from 'pg';
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
  let failure: unknown;
  for (const host of hosts) {
    const client = new Client({ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, ...options, ...host });
    takePassword(client, host);
    // Without a listener, a broken connection would end the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      if (hosts.length > 1) await expectWritable(client);
      return client;
    } catch (error) {
      client.end().catch(() => undefined);
      failure = asConnectionFailure(error);
      if (!isUnavailable(failure)) throw failure;
    }
  }
  throw failure;
}

async function expectWritable(client: Client): Promise<void> {
  const { rows } = await client.query<{ is_read_only: boolean }>(
    `select current_setting('transaction_read_only') = 'on' as is_read_only`,
  );
  if (rows[0]?.is_read_only !== false) throw new Error(READ_ONLY_SERVER);
}
