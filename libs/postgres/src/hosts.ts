import { Client, type ClientConfig, type PoolConfig } from 'pg';

/** The address of the server and the login, as `pg` takes them. */
export interface ConnectionOptions extends Pick<
  ClientConfig,
  'connectionString' | 'host' | 'port' | 'user' | 'database' | 'password' | 'ssl'
> {
  /** Connection strings of the same database at further hosts, of which one accepts writes at a time. Tried in this order. */
  readonly otherHosts?: readonly string[];
}

/** One host of a database, as `pg` takes it. */
type HostConnection = Omit<ConnectionOptions, 'otherHosts'>;

/** The hosts of a database in their order. */
export function hostsIn({
  otherHosts = [],
  ...first
}: ConnectionOptions): readonly [HostConnection, ...HostConnection[]] {
  return [first, ...otherHosts.map((connectionString) => ({ ...first, connectionString }))];
}

/** The host that new connections use: the one that accepted the last connection, until it fails. */
export class CurrentHost {
  private readonly hosts: readonly [HostConnection, ...HostConnection[]];
  private at = 0;

  constructor(connection: ConnectionOptions) {
    this.hosts = hostsIn(connection);
  }

  get count(): number {
    return this.hosts.length;
  }

  get connection(): HostConnection {
    return this.hosts[this.at] ?? this.hosts[0];
  }

  /** Goes on to the next host after a failure. Does nothing if that has been done since: several connections fail at once. */
  leave(failed: HostConnection): void {
    if (failed === this.connection) this.at = (this.at + 1) % this.hosts.length;
  }
}

/**
 * Gives a client the password of its host if it is a function, which `pg` calls for each connection. `pg` replaces the password of its
 * options by that of the connection string, also by none.
 */
export function takePassword(client: Client, { password }: HostConnection): void {
  if (typeof password === 'function') (client as unknown as { password: typeof password }).password = password;
}

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
      // `pg` also reports a broken connection as an event, which would end a process without a listener, as the pool adds one too late.
      this.on('error', () => undefined);
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
