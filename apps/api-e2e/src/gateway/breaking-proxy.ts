import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What breaks a connection, once. */
interface Break {
  readonly path: string;
  /** When the request has gone through whole, or when its answer begins to come back. */
  readonly at: 'sent' | 'answered';
  readonly strike: () => void;
}

/** A way to a deployment that can break at the worst moment of a POST with a JSON body. */
export class BreakingProxy {
  private next: Break | undefined;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** Where the deployment is; another one may take its place. */
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
   * The next POST to this path gets no answer: in its place this is done, and the connection breaks.
   *
   * @returns resolves when it has happened
   */
  breakNext(path: string, at: Break['at'], strike: () => Promise<unknown> | void = () => undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.next = { path, at, strike: () => void Promise.resolve(strike()).then(() => resolve(), reject) };
    });
  }

  /** Every connection there is. */
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
