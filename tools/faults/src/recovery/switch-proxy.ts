import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The address of the database. It leads to one server, and after a switch to another, as a virtual address does. */
export class SwitchProxy {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly listener: Server,
    private target: string,
  ) {}

  /** @param target the path of the Unix socket of PostgreSQL */
  static async start(target: string): Promise<SwitchProxy> {
    const listener = createServer();
    const proxy = new SwitchProxy(listener, target);
    listener.on('connection', (client) => proxy.join(client));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  /** Ends all connections. New ones lead to the other server. */
  switchTo(target: string): void {
    this.target = target;
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.listener.close(resolve));
  }

  private join(client: Socket): void {
    const server = connect(this.target);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
