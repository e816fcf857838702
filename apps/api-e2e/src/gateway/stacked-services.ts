import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { demoDataDir, RunningService, demoIds } from '../running-service.js';
import { type DemoIds, GATEWAY, localToken, type Service } from '../service.js';

/** Longer than a test may take, so that only a request that hangs reaches it. */
const UPSTREAM_TIMEOUT_MS = '10000';

interface GatewayOptions {
  /** The DATA_DIR whose key signs the tokens of callers and of the gateway. */
  readonly dataDir: string;
  /** The address of the other deployment. */
  readonly upstream: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A gateway of another deployment, with the credential of the service user of the demo data. */
export async function startGateway({ dataDir, upstream, environment = {} }: GatewayOptions): Promise<RunningService> {
  const UPSTREAM_TOKEN = await localToken(dataDir, GATEWAY);
  return RunningService.start({
    dataDir,
    environment: { UPSTREAM_URL: upstream, UPSTREAM_TOKEN, UPSTREAM_TIMEOUT_MS, ...environment },
  });
}

/** A deployment with new demo data, and a gateway in front of it. */
export class StackedServices {
  private constructor(
    readonly dataDir: string,
    readonly world: DemoIds,
    readonly books: RunningService,
    readonly front: RunningService,
    private readonly remove: () => Promise<void>,
  ) {}

  /** @param openDataDir a copy of the demo data by default; its ids continue with a gap */
  static async start(
    environment: Readonly<Record<string, string>> = {},
    openDataDir = demoDataDir,
  ): Promise<StackedServices> {
    const { path: dataDir, remove } = await openDataDir();
    const books = await RunningService.start({ dataDir, environment });
    const front = await startGateway({ dataDir, upstream: books.url, environment });
    return new StackedServices(dataDir, demoIds(), books, front, remove);
  }

  /** The deployment, called directly. */
  get direct(): Service {
    return this.at(this.books);
  }

  /** The deployment, called through the gateway. */
  get stacked(): Service {
    return { ...this.at(this.front), behind: this.books.url };
  }

  async stop(): Promise<void> {
    await this.front.stop();
    await this.books.stop().finally(this.remove);
  }

  private at({ url }: RunningService): Service {
    return { url, world: this.world, tokenOf: (email) => localToken(this.dataDir, email) };
  }
}

/** Headers that differ between any two responses. */
const DIFFERING = ['date', 'x-request-id'];

/** The parts of a response that are equal for two deployments. */
export interface Comparable {
  readonly status: number | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

interface ComparedResponse {
  readonly status: number | undefined;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body: string;
}

/** A response without the parts that differ between any two responses. */
export function comparable({ status, headers, body }: ComparedResponse): Comparable {
  return {
    status,
    headers: [...headers].filter(([name]) => !DIFFERING.includes(name)).sort(),
    body: body.replace(/"requestId":"[^"]*"/, '"requestId":""'),
  };
}

/** JSON without empty `edges`: a gateway adds those that its upstream has left out. */
export function withoutEmptyEdges(text: string): string {
  const isEmpty = (value: unknown) => value === null || JSON.stringify(value) === '{}';
  const parsed: unknown = JSON.parse(text, (name, value: unknown) =>
    name === 'edges' && isEmpty(value) ? undefined : value,
  );
  return JSON.stringify(parsed);
}

/** The comparable parts of a response of `fetch`. */
export async function comparableResponse(response: Response): Promise<Comparable> {
  return comparable({ status: response.status, headers: response.headers, body: await response.text() });
}

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
