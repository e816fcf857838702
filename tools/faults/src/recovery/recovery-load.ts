import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClientLog, parseLog } from '../client-log.js';
import type { Operation } from '../history.js';
import { runLoad } from '../load.js';
import { randomOf } from '../random.js';
import { type Attempt, sendOrder } from '../send-order.js';
import { makeWorld, type LoadWorld } from '../world.js';
import type { Service } from './service.js';

const SIZE = { pool: 6, owned: 16 };
const GIVE_UP_MS = 120_000;

/** Clients that place orders until they are stopped, and their log. */
export class RecoveryLoad {
  private readonly ended = new AbortController();
  private running: Promise<void> = Promise.resolve();
  acknowledged = 0;

  private constructor(
    private readonly service: Service,
    private readonly world: LoadWorld,
    private readonly log: ClientLog,
    private readonly seed: number,
  ) {}

  static async prepare(service: Service, folder: string, seed: number): Promise<RecoveryLoad> {
    await mkdir(folder, { recursive: true });
    const world = await makeWorld(service.endpoint, SIZE);
    return new RecoveryLoad(service, world, await ClientLog.create(join(folder, 'client.jsonl')), seed);
  }

  /** The beginning of every key. */
  get prefix(): string {
    return `r${this.seed}`;
  }

  start(): void {
    this.running = runLoad({
      ...{ endpoint: this.service.endpoint, world: this.world, log: this.log, prefix: this.prefix },
      random: randomOf(this.seed),
      signal: this.ended.signal,
      onOrder: (outcome) => {
        if (outcome === 'ok') this.acknowledged += 1;
      },
      onRead: () => undefined,
    });
    this.running.catch(() => undefined);
  }

  /** Waits for more acknowledged orders. @throws Error if there are none for two minutes */
  async more(orders: number): Promise<void> {
    const goal = this.acknowledged + orders;
    let last = this.acknowledged;
    let until = Date.now() + GIVE_UP_MS;
    while (this.acknowledged < goal) {
      await sleep(20);
      if (this.acknowledged > last) until = Date.now() + GIVE_UP_MS;
      last = this.acknowledged;
      if (Date.now() > until) throw new Error('the service acknowledges no more orders');
    }
  }

  async stop(): Promise<void> {
    this.ended.abort();
    await this.running;
  }

  /** The log with its times. */
  async events() {
    return parseLog(await readFile(this.log.path, 'utf8'));
  }

  isPayout({ workspaceId, recipientId }: Operation): boolean {
    return this.world.payoutRecipient(workspaceId) === recipientId;
  }

  /** Sends an order of the log again, as a client does after a restore: with the same key and body. */
  async sendAgain(operation: Operation) {
    const { key, workspaceId, accountId, recipientId, amount, attempts } = operation;
    const order = { key, workspaceId, accountId, recipientId, amount };
    const attempt: Attempt = { order, isPayout: this.isPayout(operation), attempt: attempts + 1, api: 0 };
    return sendOrder(this.service.endpoint, this.log, attempt);
  }

  async close(): Promise<void> {
    await this.stop();
    await this.log.close();
  }
}
