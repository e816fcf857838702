import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/** A Unix socket of PostgreSQL in a folder of its own, in front of that of a server: its processes can be cut off from the server. */
export class Relay {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly path: string,
    private readonly target: string,
  ) {}

  static async open(folder: string, { host, port }: { readonly host: string; readonly port: number }): Promise<Relay> {
    await mkdir(folder);
    const name = `.s.PGSQL.${port}`;
    const relay = new Relay(join(folder, name), join(host, name));
    await relay.listen();
    return relay;
  }

  /** Accepts connections. Does nothing if it already does. */
  async listen(): Promise<void> {
    if (this.server) return;
    this.server = createServer((client) => {
      const upstream = connect(this.target);
      for (const [socket, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.sockets.add(socket);
        socket.pipe(other);
        socket.on('error', () => other.destroy());
        socket.on('close', () => {
          this.sockets.delete(socket);
          other.destroy();
        });
      }
    });
    await once(this.server.listen(this.path), 'listening');
  }

  /** Ends all connections and refuses new ones. */
  async close(): Promise<void> {
    const { server } = this;
    if (!server) return;
    this.server = undefined;
    const closed = once(server.close(), 'close');
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}
