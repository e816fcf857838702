import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseProxy } from '../database-proxy.js';
import { DatabaseServer } from '../database-server.js';

/** The cells besides home. */
export const FURTHER_CELLS = ['b', 'c'] as const;
export type CellName = 'home' | (typeof FURTHER_CELLS)[number];

/** What one process has of the further cells. */
interface CellLinks {
  readonly environment: Readonly<Record<string, string>>;
}

/** The PostgreSQL servers of the further cells, each process behind a proxy of its own to each of them. */
export class CellServers {
  private readonly proxies: { readonly process: string; readonly cell: CellName; readonly proxy: DatabaseProxy }[] = [];

  private constructor(
    private readonly folder: string,
    private readonly servers: ReadonlyMap<CellName, DatabaseServer>,
  ) {}

  /** Starts the servers with empty databases. */
  static async start(folder: string, home: DatabaseServer): Promise<CellServers> {
    const servers = new Map<CellName, DatabaseServer>([['home', home]]);
    for (const name of FURTHER_CELLS) {
      const dataDir = join(folder, 'data', 'cells', name);
      await mkdir(dataDir, { recursive: true });
      servers.set(name, await DatabaseServer.start(dataDir, () => undefined, true));
    }
    return new CellServers(folder, servers);
  }

  /** Each cell with its server. */
  get all(): ReadonlyMap<CellName, DatabaseServer> {
    return this.servers;
  }

  of(cell: CellName): DatabaseServer {
    const server = this.servers.get(cell);
    if (server === undefined) throw new Error(`the run has no cell ${cell}`);
    return server;
  }

  /** Connects one process with the further cells. @param home the proxy between it and home */
  async connect(process: string, home: DatabaseProxy): Promise<CellLinks> {
    this.proxies.push({ process, cell: 'home', proxy: home });
    const cells: Record<string, object> = {};
    for (const name of FURTHER_CELLS) {
      const server = this.of(name);
      const proxy = await DatabaseProxy.start(server.socket);
      this.proxies.push({ process, cell: name, proxy });
      const { user, database } = server.login;
      cells[name] = {
        url: `postgres://${user}@127.0.0.1:${proxy.port}/${database}`,
        homeUrl: socketUrlOf(this.of('home')),
        sourceUrl: socketUrlOf(server),
      };
    }
    const file = join(this.folder, `${process}.cells.json`);
    await writeFile(file, JSON.stringify(cells));
    return { environment: { CELLS_FILE: file } };
  }

  /** The proxies between all processes and a cell. */
  proxiesTo(cell: CellName): readonly DatabaseProxy[] {
    return this.proxies.filter((one) => one.cell === cell).map(({ proxy }) => proxy);
  }

  /** The proxy between a process and a cell. */
  proxyOf(process: string, cell: CellName): DatabaseProxy {
    const link = this.proxies.find((one) => one.process === process && one.cell === cell);
    if (link === undefined) throw new Error(`the run has no link between ${process} and ${cell}`);
    return link.proxy;
  }

  /** Ends every fault between the processes and the further cells. */
  async heal(): Promise<void> {
    for (const { proxy } of this.proxies) {
      proxy.accept();
      proxy.delay(0);
      proxy.endSilence();
    }
    for (const server of this.servers.values()) await server.ready();
  }

  async stop(): Promise<void> {
    await this.closeProxies();
    // Home is stopped by the cluster, after the servers that replicate from it.
    for (const name of FURTHER_CELLS) await this.of(name).stop();
  }

  async abandon(): Promise<void> {
    await Promise.all([this.closeProxies(), ...FURTHER_CELLS.map((name) => this.of(name).abandon())]);
  }

  private async closeProxies(): Promise<void> {
    await Promise.all(this.proxies.map(({ proxy }) => proxy.close()));
  }
}

/** Replication reaches a server without a proxy: a fault of a process does not disturb it. */
function socketUrlOf({ connection, login }: DatabaseServer): string {
  const { host, port } = connection;
  return `postgres://${login.user}@localhost:${port}/${login.database}?host=${encodeURIComponent(String(host))}`;
}
