import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** One break of a connection. */
interface Break {
  readonly path: string;
  /** After the complete request, or at the first bytes of its response. */
  readonly at: 'sent' | 'responded';
  readonly strike: () => void;
}

/** A proxy to a deployment that can break the connection of a POST with a JSON body. */
export class BreakingProxy {
  private next: Break | undefined;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** The address of the deployment, which may be replaced. */
    public target: string,
  ) {}

  static async start(target: string): Promise<BreakingProxy> {
    const server = createServer();
    const proxy = new BreakingProxy(server, target);
    server.on('connection', (socket) => proxy.join(socket));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /**
   * Breaks the connection of the next POST to this path, which gets no response, and calls `strike`.
   *
   * @returns resolves after the break
   */
  breakNext(path: string, at: Break['at'], strike: () => Promise<unknown> | void = () => undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.next = { path, at, strike: () => void Promise.resolve(strike()).then(() => resolve(), reject) };
    });
  }

  /** Breaks every connection. */
  breakAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    const closed = once(this.server.close(), 'close');
    this.breakAll();
    await closed;
  }

  private join(near: Socket): void {
    const { hostname, port } = new URL(this.target);
    const far = connect(Number(port), hostname);
    let meant: Break | undefined;
    const strike = () => {
      near.resetAndDestroy();
      meant?.strike();
    };
    near.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      if (this.next && text.startsWith(`POST ${this.next.path} `)) [meant, this.next] = [this.next, undefined];
      far.write(bytes);
      if (meant?.at === 'sent' && text.endsWith('}')) strike();
    });
    far.on('data', (bytes) => {
      if (meant) strike();
      else near.write(bytes);
    });
    for (const socket of [near, far]) {
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
  }
}
