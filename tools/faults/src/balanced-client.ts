import { setTimeout as sleep } from 'node:timers/promises';
import { type Received, send } from './call.js';
import type { Cluster } from './cluster.js';

const CHECK_MS = 250;
const DEADLINE_MS = 20_000;

/**
 * Sends requests as a load balancer does: each to the next process that is ready, over connections that are used again. A process gets
 * nothing more once its health check fails.
 */
export class BalancedClient {
  private readonly isReady: boolean[];
  private next = 0;

  constructor(private readonly cluster: Cluster) {
    this.isReady = cluster.apis.map(() => true);
  }

  /** Checks the processes until the signal. */
  async watch(signal: AbortSignal): Promise<void> {
    const check = async (api: number) => {
      while (!signal.aborted) {
        const url = `${this.cluster.url(api)}/health/ready`;
        const { status } = await send(url, { method: 'GET', headers: {}, signal: AbortSignal.timeout(2_000) });
        this.isReady[api] = status === 200;
        await sleep(CHECK_MS, undefined, { signal }).catch(() => undefined);
      }
    };
    await Promise.all(this.cluster.apis.map((_, api) => check(api)));
  }

  /** The process that the next request goes to; undefined if none is ready. */
  choose(): number | undefined {
    const count = this.isReady.length;
    for (let tried = 0; tried < count; tried += 1) {
      this.next = (this.next + 1) % count;
      if (this.isReady[this.next]) return this.next;
    }
    return undefined;
  }

  async get(api: number, path: string): Promise<Received> {
    const headers = { Authorization: `Bearer ${this.cluster.token}`, 'Workspace-ID': '1' };
    return send(`${this.cluster.url(api)}${path}`, {
      method: 'GET',
      headers,
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
  }
}
