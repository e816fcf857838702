import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogEvent, parseLog } from './client-log.js';
import type { Cluster } from './cluster.js';
import { PROMISES, SCENARIOS } from './promises.js';
import { runPromises, type RunOptions } from './run-promises.js';
import { runScenario } from './run-scenario.js';
import type { Scenario } from './scenario.js';

const SEED = 4711;
const RUN_MS = 120_000;

/** The scenario, with the database changed behind the service before the final state is read. */
function planted(
  name: string,
  change: (database: Cluster['database'], keys: readonly string[]) => Promise<void>,
): Scenario {
  const scenario = SCENARIOS.find((one) => one.name === name)!;
  const run: Scenario['run'] = (context) => {
    const { cluster, log } = context;
    const heal = async () => {
      await cluster.heal();
      const acknowledged = log.events.filter((event) => event.event === 'response' && event.outcome === 'ok');
      await change(cluster.database, [...new Set(acknowledged.map((event) => (event as { key: string }).key))]);
    };
    return scenario.run({ ...context, cluster: Object.create(cluster, { heal: { value: heal } }) as Cluster });
  };
  return { ...scenario, run };
}

describe('run under faults', () => {
  let options: RunOptions;
  const lines: string[] = [];

  beforeEach(() => {
    const folder = mkdtempSync(join(tmpdir(), 'banking-faults-spec-'));
    // A server of root runs as another user, who must pass through.
    chmodSync(folder, 0o711);
    options = { promises: [], seed: SEED, minutes: 0.2, folder, onProgress: (line) => lines.push(line) };
  });
  afterEach(() => rmSync(options.folder, { recursive: true, force: true }));

  it(
    'finds no violation while the api and the workers are killed and paused',
    async () => {
      const promises = PROMISES.filter(({ id }) => id === 'P3');

      const { rows, results } = await runPromises({ ...options, promises });

      expect(rows.flatMap(({ violations }) => violations)).toEqual([]);
      expect(results.map(({ error }) => error)).toEqual([undefined]);
      const [row] = rows;
      // Too short for the figure.
      expect(row?.verdict).toBe('unknown');
      expect(row?.operations).toBeGreaterThan(20);
      expect(row?.faults).toBeGreaterThan(0);
      const logged: readonly LogEvent[] = parseLog(readFileSync(results[0]!.logPath, 'utf8'));
      expect(logged.filter(({ event }) => event === 'send').length).toBeGreaterThan(20);
      expect(logged.filter(({ event }) => event === 'fault')).toHaveLength(row?.faults ?? -1);
    },
    RUN_MS,
  );

  it(
    'finds no violation in lists of a replica that is behind, killed and silent',
    async () => {
      const promises = PROMISES.filter(({ scenario }) => scenario === 'replica');

      const { rows, results } = await runPromises({ ...options, promises });

      expect(rows.flatMap(({ violations }) => violations)).toEqual([]);
      expect(results.map(({ error }) => error)).toEqual([undefined]);
      const logged: readonly LogEvent[] = parseLog(readFileSync(results[0]!.logPath, 'utf8'));
      expect(logged.filter((event) => event.event === 'read' && event.subject.startsWith('/orders?'))).not.toEqual([]);
    },
    RUN_MS,
  );

  it(
    'reports an order that is lost, an order that is there twice, money from nowhere, and an event that is lost',
    async () => {
      const scenario = planted('same-key', async (database, [lost, doubled]) => {
        await database.query(
          `with moved as (select set_config('session_replication_role', 'replica', false))
          delete from customer_order where description = $1 and (select count(*) from moved) = 1`,
          [lost],
        );
        await database.query(
          `insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status, description)
           select workspace_id, account_id, recipient_id, amount, type, status, description
           from customer_order where description = $1`,
          [doubled],
        );
        await database.query(`with moved as (select set_config('session_replication_role', 'replica', false))
          update account set balance = balance + 1 where id = 1 and (select count(*) from moved) = 1`);
        await database.query(`with moved as (select set_config('session_replication_role', 'replica', false))
          delete from event where id = (select min(id) from event where type = 'order.completed') and (select count(*) from moved) = 1`);
      });
      const promises = PROMISES.filter(({ id }) => id === 'P6').map((one) => ({ ...one, goals: { keys: 3 } }));

      const { violations, error } = await runScenario(scenario, { ...options, promises }, 20_000);

      expect(error).toBeUndefined();
      const checks = new Set(violations.map(({ check }) => check));
      expect([...checks].sort()).toEqual(['acknowledged', 'books', 'events', 'money', 'one-order-per-key']);
    },
    RUN_MS,
  );
});
