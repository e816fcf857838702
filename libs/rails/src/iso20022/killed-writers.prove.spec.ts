import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type FreshDatabase, freshDatabase } from '@banking/postgres/testing';
import type { FileRailConfig } from '../rail-config.js';
import { numbersFrom, runFileWorker } from '../testing/file-worker.js';
import { filePayment, fileRailConfig } from '../testing/file-rails.js';
import { Iso20022Rail } from './iso20022-rail.js';
import { paymentsOfFile } from './sent-files.js';

const KILLS = 200;
const PAYMENTS = 10_000;

let world: FreshDatabase;
let config: FileRailConfig;

beforeAll(async () => {
  world = await freshDatabase();
});
afterEach(async () => {
  rmSync(config.folder, { recursive: true });
  await world.owner.query('set session_replication_role = replica; delete from file_payment; delete from payment_file');
  await world.owner.query('set session_replication_role = default');
});
afterAll(() => world.close());

/** @param killAt the operation at which the worker is killed */
const write = (killAt?: number) => runFileWorker('writing', world, config, { leaseMs: 0, killAt });

/** Takes files at any time, as the client of the bank does. */
class BankClient {
  readonly taken: string[] = [];
  private readonly timer = setInterval(() => this.take(), 3);

  take(): void {
    const out = join(config.folder, 'out');
    for (const name of readdirSync(out)) {
      const file = readFileSync(join(out, name), 'utf8');
      rmSync(join(out, name));
      this.taken.push(file);
    }
  }

  stop(): void {
    clearInterval(this.timer);
    this.take();
  }
}

describe('workers that write files', () => {
  it(`are killed ${KILLS} times at any operation, and each payment leaves in one file`, async () => {
    config = fileRailConfig({ closeAfterSeconds: 0, paymentsMax: 2 });
    const rail = new Iso20022Rail(config, world.database);
    const client = new BankClient();
    const random = numbersFrom(33);
    let [kills, submitted] = [0, 0];
    while (kills < KILLS) {
      for (let count = 0; count < 3; count += 1) await rail.submit(filePayment((submitted += 1)));
      const writers = random() < 0.3 ? 2 : 1;
      const killed = Array.from({ length: writers }, () => write(1 + Math.floor(random() * 90)));
      kills += (await Promise.all(killed)).filter((report) => report === undefined).length;
    }
    expect(await write()).toBeDefined();
    client.stop();

    const payments = client.taken.flatMap((file) => paymentsOfFile(file) ?? []);
    expect(client.taken.map((file) => paymentsOfFile(file)?.length ?? 0)).not.toContain(0);
    expect(payments.map(({ endToEndId }) => endToEndId).sort()).toEqual(
      Array.from({ length: submitted }, (_, index) => filePayment(index + 1).key).sort(),
    );
    // A late try of a file that has left may be there. It does not count.
    const { rows } = await world.owner.query<{ name: string }>(
      `select message_id || '.' || prepared_as || '.xml' as name from payment_file`,
    );
    const counted = rows.map(({ name }) => name);
    expect(readdirSync(join(config.folder, 'ready')).filter((name) => counted.includes(name))).toEqual([]);
    const copies = readdirSync(join(config.folder, 'sent'), { recursive: true, encoding: 'utf8' });
    expect(copies.filter((name) => name.endsWith('.xml'))).toHaveLength(client.taken.length);
    expect(payments.every(({ amount, currency }) => amount === 12_345n && currency === 'EUR')).toBe(true);
  });

  it(`write ${PAYMENTS} payments in 20 s and 300 MB`, async () => {
    config = fileRailConfig({ closeAfterSeconds: 0 });
    const rail = new Iso20022Rail(config, world.database);
    for (let number = 1; number <= PAYMENTS; number += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, index) => rail.submit(filePayment(number + index))));
    }
    const client = new BankClient();
    const startedAt = performance.now();
    const report = await write();
    const seconds = (performance.now() - startedAt) / 1_000;
    client.stop();
    const megabytes = (report?.maxRssKb ?? 0) / 1_024;
    process.stdout.write(`${PAYMENTS} payments: ${seconds.toFixed(1)} s, ${megabytes.toFixed(0)} MB\n`);

    expect(client.taken.flatMap((file) => paymentsOfFile(file) ?? [])).toHaveLength(PAYMENTS);
    expect(client.taken).toHaveLength(PAYMENTS / 1_000);
    expect(megabytes).toBeLessThan(300);
  });
});
