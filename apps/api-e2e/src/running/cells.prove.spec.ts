import { offlineDocument } from '../documented/read-document.js';
import { countOf, plansOf } from '../isolation/cases.js';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkspaceView } from '@banking/client';
import type { ApprovalPending, ApprovalRule, Order, RoleName } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { bankingWith, launch, newDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { contract } from '../contract/contract.js';
import { Payer } from '../contract/paying.js';
import { refusesHostile } from '../hostile/refuses-hostile.js';
import { Matrix } from '../isolation/matrix.js';
import { CellRows, ENVIRONMENT } from '../isolation/services.js';
import { makeWorld, type World } from '../isolation/world.js';
import { bugsIn, secretsIn } from '../log-lines.js';
import { ADA, BOB, DANA, type DemoIds, EVE, idOf, localToken, startedLater } from '../service.js';

const CELLS = { CELLS: '3' };

let folder: TestDataDir;
let running: RunningService;
let world: DemoIds;
beforeAll(async () => {
  folder = await newDataDir();
  // Two at once, each of which finds no database.
  const start = () => RunningService.start({ dataDir: folder.path, environment: CELLS });
  const [first, second] = await Promise.all([start(), start()]);
  running = first;
  await second.stop();
  world = JSON.parse(await banking('demo', '--json')) as DemoIds;
}, 240_000);
afterAll(async () => {
  await running?.stop();
  await folder?.remove();
});

const banking = (...args: string[]) => bankingWith({ DATA_DIR: folder.path, ...CELLS }, ...args);

const service = startedLater(
  () => ({ url: running.url, world, tokenOf: (email) => localToken(folder.path, email) }),
  // Ids at home have no remainder by 64, because home was made a cell before the demo data.
  { firstId: 64, hasCrossings: true },
);

contract('the service on three databases', () => service);

refusesHostile('hostile requests to three databases', () => service);

describe('a payment to an account in another database', () => {
  it('comes back if the account was disabled after the order', async () => {
    const [ada, eve] = [new Payer(service), new Payer(service, 'Southwind Imports', EVE)];
    const [from, theirs] = [await ada.account('1000'), await eve.account()];
    const recipientID = await ada.recipientOf(theirs);
    await eve.view.accounts.change(theirs.id, { status: 'disabled' });

    const { body } = await ada.send(from.id, { amount: '400', recipientID, type: 'instant' });

    expect(await ada.finalStatus(from.id, (body as Order).id)).toBe('failed');
    expect([await ada.balanceOf(from.id), await eve.balanceOf(theirs.id)]).toEqual(['1000', '0']);
  });
});

/** Changes a member of a workspace in another database, at once after a rule is made, and approves it. */
async function changeWithApproval(roles: readonly RoleName[]): Promise<void> {
  const workspace = 'Ada personal';
  const [ada, dana] = [ADA, DANA].map((email) => new Payer(service, workspace, email).view) as [
    WorkspaceView,
    WorkspaceView,
  ];
  const replace = async (...rules: readonly ApprovalRule[]) =>
    ada.approvalRules.replace({ version: (await ada.approvalRules.get()).version, rules });
  const findBob = async () => (await ada.members.listPage()).items.find(({ email }) => email === BOB);
  for (const [email, role] of [
    [DANA, 'approver'],
    [BOB, 'viewer'],
  ] as const) {
    await banking('grant', 'add', email, '--workspace', String(idOf(world, 'workspaces', workspace)), '--role', role);
  }
  // Copies arrive in the order of the changes.
  const bob = await until(findBob, (found) => found?.roles.includes('viewer') === true);
  await replace({ operations: 'members', approvals: 1, roles: ['approver'] });

  const change = ada.members.change(bob!.id, { roles });

  const { approval } = (await change.catch((error: unknown) => error)) as ApprovalPending;
  expect((await findBob())?.roles).toEqual(bob!.roles);
  await dana.approvals.decide(approval.id, { decision: 'approve', version: approval.version });
  const outcome = await until(async () => (await ada.approvals.get(approval.id)).outcome);
  expect(outcome).toMatchObject({ status: 'carried_out' });
  await until(findBob, (found) => String(found?.roles) === String(roles));
  await replace();
}

describe('a change of members that waits for approvals, in a workspace of another database', () => {
  it('is carried out at home, where the members are', () => changeWithApproval(['approver']));
});

describe('a service account of a workspace in another database', () => {
  it('is made, called with and removed by an operator', async () => {
    const workspace = String(idOf(world, 'workspaces', 'Ada personal'));
    const ofWorkspace = ['--workspace', workspace] as const;
    const added = await banking('service-account', 'add', 'Payroll', ...ofWorkspace, '--role', 'viewer', '--json');
    const { id } = JSON.parse(added) as { readonly id: number };
    const key = (await banking('key', 'create', ...ofWorkspace, '--account', String(id))).trim();
    const read = async () =>
      (
        await fetch(`${service.url}/accounts`, {
          headers: { authorization: `Bearer ${key}`, 'workspace-id': workspace },
        })
      ).status;

    expect(await read()).toBe(200);
    await banking('service-account', 'remove', String(id), ...ofWorkspace);
    expect(await until(read, (status) => status !== 200)).toBe(401);
  });
});

describe('the three databases after the contract suite', () => {
  it('each have one workspace of the demo data', async () => {
    const workspaces = JSON.parse(await banking('workspace', 'list', '--json')) as { name: string; cell: string }[];
    const cells = JSON.parse(await banking('cell', 'list', '--json')) as object[];

    expect(workspaces.map(({ name, cell }) => [name, cell])).toEqual([
      ['Northwind Trading', 'home'],
      ['Ada personal', 'b'],
      ['Southwind Imports', 'c'],
    ]);
    expect(cells).toMatchObject(['home', 'b', 'c'].map((name, number) => ({ name, number, workspaces: 1 })));
  });

  it('have books in order', async () => {
    const report = JSON.parse(await banking('verify', '--json')) as { inOrder: boolean; cells: object };

    expect(report.inOrder).toBe(true);
    expect(Object.keys(report.cells)).toEqual(['home', 'b', 'c']);
  });

  it('are migrated by one command, home last', async () => {
    const { cells } = JSON.parse(await banking('migrate', '--json')) as { cells: object };

    expect(Object.entries(cells)).toEqual(['b', 'c', 'home'].map((name) => [name, { applied: [] }]));
    expect(await banking('migrate', '--plan')).toMatch(/^Cell b\nRelease .* lacks nothing/);
  });

  it('are listed together, each row with its cell', async () => {
    const work = JSON.parse(await banking('work', 'list', '--json')) as { cell: string }[];

    expect(work.length).toBeGreaterThan(0);
    expect(work.filter(({ cell }) => !['home', 'b', 'c'].includes(cell))).toEqual([]);
    expect(await banking('discrepancy', 'list', '--all')).toMatch(/^Cell +Id +Workspace|^There are no/);
  });

  it('leave neither a secret nor an unhandled error in the log', () => {
    expect([...secretsIn(running.log), ...bugsIn(running.log)]).toEqual([]);
  });
});

describe('a worker of three databases', () => {
  let worker: ReturnType<typeof launch>;
  let ports: { healthPort: number; metricsPort: number };

  beforeAll(async () => {
    await running.stop();
    running = await RunningService.start({ dataDir: folder.path, environment: { ...CELLS, WORKER: 'off' } });
    const environment = { ...CELLS, HEALTH_PORT: '0', METRICS_PORT: '0' };
    worker = launch('worker', { dataDir: folder.path, environment });
    ports = JSON.parse(await worker.output.matched(/^.*"working".*$/m)) as typeof ports;
  });
  afterAll(async () => {
    worker?.child.kill('SIGTERM');
    await worker?.ended;
  });

  const read = async (port: number, path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, text: await response.text() };
  };

  it('names each of them in its health', async () => {
    const { status, text } = await read(ports.healthPort, '/health/ready');

    const { work } = JSON.parse(text) as { work: { cells: Record<string, object> } };
    expect(status).toBe(200);
    expect(Object.keys(work.cells)).toEqual(['home', 'b', 'c']);
    expect(work.cells['b']).toMatchObject({ parked: {}, oldestDueSeconds: expect.any(Number) as number });
  });

  it('carries out an approved change of members at home', () => changeWithApproval(['viewer', 'member']));

  it('has metrics of each of them, and of the copies of the directory', async () => {
    const { text } = await read(ports.metricsPort, '/metrics');

    for (const cell of ['home', 'b', 'c']) {
      expect(text).toContain(`banking_database_values_up{cell="${cell}"} 1`);
      expect(text).toContain(`banking_work_due{kind="payout",cell="${cell}"}`);
      expect(text).toMatch(new RegExp(`^banking_database_connections\\{state="idle",cell="${cell}"\\} \\d+$`, 'm'));
    }
    for (const cell of ['b', 'c']) {
      expect(text).toContain(`banking_directory_copy_connected{cell="${cell}"} 1`);
      expect(text).toContain(`banking_directory_copy_lost{cell="${cell}"} 0`);
    }
  });
});

// After all others, because the service is started again, with ids of the spec.
const plans = plansOf(offlineDocument());

describe(`a workspace, in ${countOf(plans)} cases with callers whose workspaces are in other databases,`, () => {
  let rows: CellRows;
  let world: World;
  let matrix: Matrix;

  beforeAll(async () => {
    await running.stop();
    rows = await CellRows.open([folder.path, ...['b', 'c'].map((name) => join(folder.path, 'cells', name))]);
    await rows.spreadIds();
    running = await RunningService.start({ dataDir: folder.path, environment: { ...CELLS, ...ENVIRONMENT } });
    world = await makeWorld(service, rows, plans);
    matrix = new Matrix(service, world, rows);
  }, 240_000);
  afterAll(() => rows?.end());

  it.each(plans)('is not disclosed or changed by $operationId', async (plan) => {
    expect(await matrix.faultsOf(plan)).toEqual([]);
  });

  it('is not named in the rows of another', async () => {
    expect(await world.canariesInOtherRows()).toEqual([]);
  });

  it('leaves no unhandled error in the log', () => {
    expect(bugsIn(running.log)).toEqual([]);
  });
});

describe('a list of which one database cannot be read', () => {
  it('has the rows of the others, and fails at the end with the name of the cell', async () => {
    await running.stop();
    const ofC = join(folder.path, 'cells', 'c');
    await rename(ofC, join(folder.path, 'taken-away'));

    const failure = await banking('work', 'list', '--json').then(
      () => undefined,
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );

    await rm(ofC, { recursive: true });
    await rename(join(folder.path, 'taken-away'), ofC);
    running = await RunningService.start({ dataDir: folder.path, environment: CELLS });
    expect(failure?.code).toBe(1);
    expect(failure?.stderr).toMatch(/^Cell c could not be read: The database of the cell "c" lacks 0001/m);
    expect((JSON.parse(failure!.stdout) as object[]).length).toBeGreaterThan(0);
  });
});
