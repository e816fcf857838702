import { Client, type PoolConfig } from 'pg';
import { type CurrentHost, type HostConnection, takePassword } from './hosts.js';

type OnConnected = ((error: Error) => void) | ((error: null, client: Client) => void);

/** A client of a pool, with the host that it was made for. */
export interface HostClient extends Client {
  readonly usedHost: HostConnection;
}

/**
 * Makes the class of the clients of a pool. Each connects to the host that is the current one when it is made, and leaves it when that
 * fails: `pg-pool` itself knows one host.
 */
export function hostClient(current: CurrentHost, timeoutMs: number): new (config: PoolConfig) => HostClient {
  return class extends Client {
    // Private, because it contains the password, and a printed object must not.
    readonly #usedHost: HostConnection;

    constructor(config: PoolConfig) {
      const usedHost = current.connection;
      super({ ...config, ...usedHost, connectionTimeoutMillis: timeoutMs });
      takePassword(this, usedHost);
      this.#usedHost = usedHost;
    }

    get usedHost(): HostConnection {
      return this.#usedHost;
    }

    override connect(): Promise<Client>;
    override connect(onConnected: OnConnected): void;
    override connect(onConnected?: OnConnected): Promise<Client> | void {
      const connected = super.connect().catch((error: unknown) => {
        current.leave(this.#usedHost);
        throw error;
      });
      if (onConnected === undefined) return connected;
      const report = onConnected as (error: Error | null, client?: Client) => void;
      connected.then(
        (client) => report(null, client),
        (error: Error) => report(error),
      );
    }
  };
}
