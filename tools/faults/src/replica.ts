import { setTimeout as sleep } from 'node:timers/promises';
import { ReplicaServer } from '@banking/embedded-postgres/testing';
import { DatabaseProxy } from './database-proxy.js';
import type { DatabaseServer } from './database-server.js';
import { runEnd } from './end-with-run.js';

/** Every commit is replayed at least this late, so that a list often finds the replica behind. */
const SETTINGS = { recovery_min_apply_delay: '5ms' };

/** A streaming replica of the server of a run, behind a proxy that all api processes share. */
export class Replica {
  private constructor(
    private readonly server: ReplicaServer,
    private readonly proxy: DatabaseProxy,
  ) {}

  static async start({ connection }: DatabaseServer): Promise<Replica> {
    const server = await ReplicaServer.of(connection, SETTINGS);
    runEnd.add({ pidFile: server.pidFile });
    const { host, port } = server.connection;
    return new Replica(server, await DatabaseProxy.start(`${host}/.s.PGSQL.${port}`));
  }

  get port(): number {
    return this.proxy.port;
  }

  /** Stops the replay for a time. The replica answers meanwhile, with old rows. */
  async pauseReplay(lastsMs: number): Promise<void> {
    await this.server.pause();
    await sleep(lastsMs);
    await this.server.resume();
  }

  /** Ends the server as a crash does, and starts it again after a time. */
  async crash(lastsMs: number): Promise<void> {
    await this.server.stop();
    await sleep(lastsMs);
    await this.server.start();
  }

  /** Drops what both ends send, for a time. */
  async silence(lastsMs: number): Promise<void> {
    this.proxy.silence();
    await sleep(lastsMs);
    this.proxy.endSilence();
  }

  async stop(): Promise<void> {
    await this.proxy.close();
    await this.server.remove();
    runEnd.remove({ pidFile: this.server.pidFile });
  }
}
