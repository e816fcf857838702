import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { ConnectionOptions } from '../session-pool.js';

/** The decision on received bytes: which are forwarded, and whether the connection is then cut. */
interface Fate {
  readonly pass?: Buffer;
  readonly isCut?: boolean;
}

/** Decides on every chunk from one end. Connections are numbered from 1. */
type Fault = (bytes: Buffer, connection: number) => Fate;

const healthy: Fault = (bytes) => ({ pass: bytes });

/** A proxy between a client and the server, which a spec can pause or cut at any byte. */
export class Wire {
  toServer = healthy;
  toClient = healthy;
  private readonly sockets = new Set<Socket>();
  private readonly silent = new WeakSet<Socket>();

  private constructor(
    private readonly server: Server,
    /** The connection to the same database through this proxy. */
    readonly connection: ConnectionOptions,
  ) {}

  /** @param at the port on which it listens. Default: a free one */
  static async lay(connection: ConnectionOptions, at = 0): Promise<Wire> {
    const { host, port, ...login } = withoutUrl(connection);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
    const wire = new Wire(server, { ...login, host: '127.0.0.1', port: (server.address() as AddressInfo).port });
    let connections = 0;
    server.on('connection', (client) => {
      const number = (connections += 1);
      const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
      wire.join(client, upstream, (bytes) => wire.toServer(bytes, number));
      wire.join(upstream, client, (bytes) => wire.toClient(bytes, number));
    });
    return wire;
  }

  /** Discards all further bytes of the existing connections, in both directions. New connections work. */
  silence(): void {
    this.sockets.forEach((socket) => this.silent.add(socket));
  }

  async remove(): Promise<void> {
    this.sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(from: Socket, to: Socket, fault: (bytes: Buffer) => Fate): void {
    this.sockets.add(from);
    from.on('data', (bytes) => {
      const { pass, isCut }: Fate = this.silent.has(from) ? {} : fault(bytes);
      if (pass !== undefined) to.write(pass);
      if (isCut !== true) return;
      from.destroy();
      to.end();
    });
    const end = () => {
      this.sockets.delete(from);
      if (!this.silent.has(from)) to.end();
    };
    from.on('close', end);
    from.on('error', end);
  }
}

function withoutUrl(connection: ConnectionOptions): ConnectionOptions & { host: string; port: number } {
  const { connectionString, ...rest } = connection;
  if (connectionString === undefined) return { ...rest, host: rest.host ?? '127.0.0.1', port: rest.port ?? 5432 };
  const url = new URL(connectionString);
  return {
    host: url.searchParams.get('host') ?? url.hostname,
    port: Number(url.port || '5432'),
    user: decodeURIComponent(url.username),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    database: decodeURIComponent(url.pathname.slice(1)),
  };
}
