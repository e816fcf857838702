import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { FILTER_SETTINGS } from '../config.js';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { localToken, type Service } from '../service.js';
import { StoredRows } from './stored-rows.js';

const PRELOADED = resolve(__dirname, '../../dist/isolation/without-filters.js');
const UNLIMITED = '1000000';
/** The settings of a service whose rows are compared. Without a worker, no row changes between two requests. */
export const ENVIRONMENT = {
  WORKER: 'off',
  RATE_LIMIT_PER_SECOND: UNLIMITED,
  ORDER_LIMIT_PER_MINUTE: UNLIMITED,
  OPEN_QUOTES_PER_WORKSPACE: UNLIMITED,
};

/** A service, as requests need it. */
export type CalledService = Pick<Service, 'url' | 'tokenOf'>;

/** A service that sends its statements without conditions on the workspace. */
export interface UnfilteredService extends CalledService {
  /** What it has sent so far. */
  statements(): readonly SentStatement[];
}

/** A statement as one connection has prepared it. */
interface SentStatement {
  readonly name: string;
  /** Whether a condition was removed. */
  readonly isChanged: boolean;
  /** Whether it still has a condition on a workspace. */
  readonly hasFilter: boolean;
}

/** One database with any number of services. */
export class Services {
  private readonly running: RunningService[] = [];
  private readonly tokens = new Map<string, Promise<string>>();

  private constructor(
    private readonly folder: TestDataDir,
    private readonly server: EmbeddedServer,
    readonly rows: StoredRows,
  ) {}

  static async open(): Promise<Services> {
    const folder = await demoDataDir();
    const server = await attachEmbeddedServer({ dataDir: folder.path });
    const rows = await StoredRows.open(server);
    await rows.spreadIds();
    return new Services(folder, server, rows);
  }

  /** Starts the service as it is published. */
  start(): Promise<CalledService> {
    return this.startWith({});
  }

  /** @param kept the statements that keep their conditions */
  async startUnfiltered(name: string, kept: readonly string[] = []): Promise<UnfilteredService> {
    const logFile = join(this.folder.path, `${name}.jsonl`);
    const { keeps, logFile: log } = FILTER_SETTINGS;
    const preload = { NODE_OPTIONS: `--require ${PRELOADED}`, [log]: logFile, [keeps]: kept.join(',') };
    const statements = () =>
      readFileSync(logFile, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as SentStatement);
    return { ...(await this.startWith(preload)), statements };
  }

  async stop(): Promise<void> {
    for (const service of this.running) await service.stop();
    await this.rows.end();
    await this.server.detach();
    await this.folder.remove();
  }

  private async startWith(more: Readonly<Record<string, string>>): Promise<CalledService> {
    const dataDir = this.folder.path;
    const service = await RunningService.start({ dataDir, environment: { ...ENVIRONMENT, ...more } });
    this.running.push(service);
    return { url: service.url, tokenOf: (email) => this.tokenOf(email) };
  }

  private tokenOf(email: string): Promise<string> {
    const token = this.tokens.get(email) ?? localToken(this.folder.path, email);
    this.tokens.set(email, token);
    return token;
  }
}
