import { type Ending, launch } from '../launch.js';
import { demoDataDir, RunningService } from '../running-service.js';
import { startGateway } from '../gateway/stacked-services.js';
import { localToken, type Service } from '../service.js';
import { readDemoIds, type DemoIds } from '../world.js';
import { OtlpReceiver } from './otlp-receiver.js';

/** A worker in a process of its own. */
interface RunningWorker {
  readonly log: () => string;
  stop(): Promise<Ending>;
}

/** A deployment, its worker and a gateway in front of it, which send their spans to one collector. */
export class TracedServices {
  private constructor(
    readonly receiver: OtlpReceiver,
    readonly world: DemoIds,
    readonly dataDir: string,
    readonly books: RunningService,
    readonly front: RunningService,
    private readonly worker: RunningWorker,
    private readonly removeFolder: () => Promise<void>,
  ) {}

  static async start(): Promise<TracedServices> {
    const receiver = await OtlpReceiver.start();
    const { path: dataDir, remove } = await demoDataDir();
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
    const books = await RunningService.start({ dataDir, environment: { ...environment, WORKER: 'off' } });
    const front = await startGateway({ dataDir, upstream: books.url, environment });
    const { child, ended, output } = launch('worker', { dataDir, environment });
    await output.matched(/"msg":"working"/);
    const worker = {
      log: () => output.text,
      stop: () => {
        child.kill('SIGTERM');
        return ended;
      },
    };
    return new TracedServices(receiver, await readDemoIds(dataDir), dataDir, books, front, worker, remove);
  }

  /** The deployment, called through the gateway. */
  get service(): Service {
    return { url: this.front.url, world: this.world, tokenOf: (email) => localToken(this.dataDir, email) };
  }

  /** Stops all processes, each after those that call it. Returns the lines of their logs. */
  async stop(): Promise<Readonly<Record<'front' | 'books' | 'worker', string>>> {
    await this.front.stop();
    const { code } = await this.worker.stop();
    if (code !== 0) throw new Error(`the worker ended with ${code}:\n${this.worker.log()}`);
    await this.books.stop();
    return { front: this.front.log, books: this.books.log, worker: this.worker.log() };
  }

  async remove(): Promise<void> {
    await this.receiver.stop();
    await this.removeFolder();
  }
}
