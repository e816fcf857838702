import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Account, type Order, Refusal } from '@banking/domain';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { until } from '@banking/postgres/testing';
import { bankingWith, launch, newDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { Payer } from '../contract/paying.js';
import { bugsIn, secretsIn } from '../log-lines.js';
import { type DemoIds, localToken, type Service, startedLater } from '../service.js';

const MOVED = 'Ada personal';

/** Servers of home, b and c. The service and the worker start with home and b. */
let folder: TestDataDir;
const servers = new Map<string, EmbeddedServer>();
let environment: Record<string, string>;
let running: RunningService;
let worker: ReturnType<typeof launch>;
let ports: { healthPort: number; metricsPort: number };
let service: Service;

const urlOf = (name: string) => {
  const { host, port, user, database } = servers.get(name)!.connection;
  return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
};
const writeCells = (...names: string[]) => {
  const cells = Object.fromEntries(names.map((name) => [name, { url: urlOf(name) }]));
  return writeFile(environment['CELLS_FILE']!, JSON.stringify(cells), { mode: 0o600 });
};
/** Nothing, while the process does not know the cell. @throws any other error */
const untilServed = (error: unknown): undefined => {
  if (!(error instanceof Refusal && error.reason === 'unavailable')) throw error;
};
const banking = (...args: string[]) => bankingWith(environment, ...args);

beforeAll(async () => {
  folder = await newDataDir();
  // As root, a server runs as another user, who must enter the folder.
  await chmod(folder.path, 0o711);
  for (const name of ['home', 'b', 'c']) {
    servers.set(name, await attachEmbeddedServer({ dataDir: join(folder.path, name), isReplicated: true }));
  }
  environment = {
    ...{ DATABASE_URL: urlOf('home'), CELLS_FILE: join(folder.path, 'cells.json') },
    ...{ DATA_DIR: folder.path, SANDBOX: 'on', DEMO_DATA: 'on' },
  };
  await writeCells('b');
  await banking('cell', 'add', 'b');
  running = await RunningService.start({ dataDir: folder.path, environment });
  worker = launch('worker', {
    dataDir: folder.path,
    environment: { ...environment, HEALTH_PORT: '0', METRICS_PORT: '0' },
  });
  ports = JSON.parse(await worker.output.matched(/^.*"working".*$/m)) as typeof ports;
  service = {
    url: running.url,
    world: JSON.parse(await banking('demo', '--json')) as DemoIds,
    tokenOf: (email) => localToken(folder.path, email),
  };
}, 240_000);
afterAll(async () => {
  worker?.child.kill('SIGTERM');
  await worker?.ended;
  await running?.stop();
  for (const name of ['c', 'b', 'home']) await servers.get(name)?.detach();
  await folder?.remove();
}, 60_000);

const read = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();

describe('a cell that is added while the service and a worker run', () => {
  const [payer, payee] = [
    new Payer(startedLater(() => service)),
    new Payer(
      startedLater(() => service),
      MOVED,
    ),
  ];
  let to: Account;

  const pay = async (from: Payer, account: Account): Promise<string | undefined> => {
    const { id } = await from.account('1000');
    const recipientID = await from.recipientOf(account);
    const { body } = await from.send(id, { amount: '400', recipientID, type: 'instant' });
    return from.finalStatus(id, (body as Order).id);
  };

  it('serves a workspace that moves to it', async () => {
    to = await payee.account();
    await writeCells('b', 'c');
    await banking('cell', 'add', 'c');
    await banking('cell', 'move', String(payee.workspace), '--to', 'c');

    const places = JSON.parse(await banking('workspace', 'list', '--json')) as { name: string; cell: string }[];
    expect(places).toContainEqual(expect.objectContaining({ name: MOVED, cell: 'c' }));
    expect(
      await until(
        () => payee.balanceOf(to.id).catch(untilServed),
        (found) => found !== undefined,
      ),
    ).toBe('0');
  });

  it('gives and takes payments, with the workers of all cells', async () => {
    expect(await pay(payer, to)).toBe('completed');
    expect(await payee.balanceOf(to.id)).toBe('400');
    expect(await pay(payee, await payer.account())).toBe('completed');
  });

  it('is verified and measured by the worker', async () => {
    const verified = async () => JSON.parse(await read(ports.healthPort, '/health/ready')) as object;
    const ofC = { c: expect.anything() as object };
    const hasC = { work: { cells: ofC }, verification: { cells: ofC } };
    await until(verified, (found) => Object.keys((found as typeof hasC).verification?.cells ?? {}).includes('c'));

    expect(await verified()).toMatchObject(hasC);
    expect(await read(ports.metricsPort, '/metrics')).toContain('banking_database_values_up{cell="c"} 1');
    expect((JSON.parse(await banking('verify', '--json')) as { inOrder: boolean }).inOrder).toBe(true);
  });

  it('leaves neither a secret nor an unhandled error in the logs', () => {
    for (const log of [running.log, worker.output.text]) {
      expect([...secretsIn(log), ...bugsIn(log)]).toEqual([]);
      expect(log).toContain('The cell c was added.');
    }
  });
});
