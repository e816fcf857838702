import { demoDataDir, RunningService } from '../running-service.js';
import { GATEWAY, localToken, type Service } from '../service.js';
import { readDemoIds, type DemoIds } from '../world.js';

/** Longer than a test may take, so that only a request that hangs reaches it. */
const UPSTREAM_TIMEOUT_MS = '10000';

export interface GatewayOptions {
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
    return new StackedServices(dataDir, await readDemoIds(dataDir), books, front, remove);
  }

  /** The deployment, called directly. */
  get direct(): Service {
    return this.at(this.books);
  }

  /** The deployment, called through the gateway. */
  get stacked(): Service {
    return this.at(this.front);
  }

  async stop(): Promise<void> {
    await this.front.stop();
    await this.books.stop().finally(this.remove);
  }

  private at({ url }: RunningService): Service {
    return { url, world: this.world, tokenOf: (email) => localToken(this.dataDir, email) };
  }
}
