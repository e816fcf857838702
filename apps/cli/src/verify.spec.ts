import { CHECKS, INTERWORKSPACE_CHECK, type VerificationReport } from '@banking/ledger';
import { type Attention } from '@banking/books-proof';
import { DIRECTORY_CHECK, PAYMENT_CHECKS } from '@banking/operations/verification';
import { type DemoIds } from '@banking/operations/demo';
import { runCommand } from './program.js';
import { World } from './testing/world.js';

const BOOKS = ['transfer', 'transaction', 'account'];
const world = new World();
let demo: DemoIds;

beforeAll(async () => {
  await world.openDemo();
  demo = await world.json<DemoIds>('demo');
  await world.query('create schema kept');
  for (const table of BOOKS) await world.query(`create table kept.${table} as table ${table}`);
});
afterEach(async () => {
  for (const table of BOOKS) {
    await world.query(`delete from ${table}`);
    await world.query(`insert into ${table} select * from kept.${table}`);
  }
});
afterAll(() => world.close());

const OF_ALL = [INTERWORKSPACE_CHECK, DIRECTORY_CHECK];

interface Told extends VerificationReport {
  readonly inOrder: boolean;
  readonly checks: readonly string[];
  readonly skippedChecks: readonly string[];
  readonly attention: readonly Attention[];
}

async function verify(...args: readonly string[]) {
  const { exitCode, stdout, stderr } = await world.run(['verify', '--json', ...args]);
  return { exitCode, stderr, report: JSON.parse(stdout) as Told };
}

describe('banking verify of intact books', () => {
  it('counts the checked rows without findings', async () => {
    const { exitCode, stderr, report } = await verify();

    const [count] = await world.query(
      `select (select count(*)::int from account) as accounts, (select count(*)::int from transaction) as transactions,
              (select count(*)::int from leg) as transfers, (select count(*)::int from workspace) as workspaces`,
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const { fxPositions, ...told } = report;
    const checks = [...CHECKS, ...PAYMENT_CHECKS, ...OF_ALL];
    expect(told).toEqual({ inOrder: true, checks, skippedChecks: [], findings: [], attention: [], ...count });
    expect(fxPositions).toEqual(
      await world.query(
        `select t.workspace_id::int as "workspaceId", c.code as "currencyCode",
                sum(case t.direction when 'credit' then t.amount else -t.amount end)::text as amount
         from leg t join account a on a.id = t.account_id and a.kind = 'fx' join currency c on c.id = t.currency_id
         group by 1, 2, a.id order by 1, a.id`,
      ),
    );
  });

  it('begins with current statistics of the planner, as a crash of the server leaves none', async () => {
    await world.query('select pg_stat_reset()');

    await verify();

    expect(
      await world.query(`select pg_stat_get_last_analyze_time('transfer'::regclass) is not null as is_analyzed`),
    ).toEqual([{ is_analyzed: true }]);
  });

  it('lists every check, and ends with the verdict', async () => {
    const { exitCode, stdout, stderr } = await world.run(['verify', '--workspace', '1']);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    for (const check of [...CHECKS, ...PAYMENT_CHECKS]) expect(stdout).toMatch(new RegExp(`^${check} +0$`, 'm'));
    for (const check of OF_ALL) expect(stdout).toMatch(new RegExp(`^${check} +skipped$`, 'm'));
    expect(stdout).toMatch(/^Workspace +Currency +Position on fx\n +1 +[A-Z]{3} +-?\d+\.\d\d$/m);
    expect(stdout).not.toMatch(/Waits for an operator/);
    expect(stdout).toMatch(/^Checked one workspace: \d+ accounts, \d+ transactions, \d+ transfers\.$/m);
    expect(stdout).toMatch(/\nThe books are in order\.\n$/);
  });
});

describe('banking verify with parked work', () => {
  it('lists the work for an operator, and reports no finding', async () => {
    await world.query('create table kept.work as table work');
    await world.query(`update work set parked_at = now(), reason = 'rate_unavailable' where kind = 'execution'`);

    const { exitCode, stderr, report } = await verify();
    const { stdout } = await world.run(['verify']);
    await world.query('delete from work; insert into work select * from kept.work');

    expect({ exitCode, stderr, inOrder: report.inOrder }).toEqual({ exitCode: 0, stderr: '', inOrder: true });
    expect(report.attention.length).toBeGreaterThan(0);
    for (const { kind, detail } of report.attention) {
      expect(kind).toBe('parked work');
      expect(detail).toMatch(/^execution \d+ of order \d+ is parked since .*: rate_unavailable$/);
    }
    expect(stdout).toMatch(/^Workspace +Waits for an operator\n +1 +execution \d+ of order \d+ is parked/m);
    expect(stdout).toMatch(/\nThe books are in order\.\n$/);
  });

  it('prints the first twenty entries, and all with --json', async () => {
    await world.query('create table kept.more_work as table work');
    await world.query(
      `insert into work (workspace_id, kind, subject_id, parked_at, reason)
       select 1, 'payout', 1000000 + n, now(), 'rate_unavailable' from generate_series(1, 30) n`,
    );

    const { report } = await verify();
    const { stdout } = await world.run(['verify']);
    await world.query('delete from work; insert into work select * from kept.more_work');

    expect(report.attention).toHaveLength(30);
    expect(stdout.match(/is parked since/g)).toHaveLength(20);
    expect(stdout).toContain('10 more: see --json, banking work list and banking discrepancy list.');
  });
});

describe('banking verify of damaged books', () => {
  it.each([
    ['a balance is raised', /the balance of a customer account/, accountOf('balance = balance + 1')],
    [
      'a return is cut off',
      /failed has its return/,
      'update transaction set return_of = null where $1::bigint is not null',
    ],
  ])('reports that %s', async (_what, check, sql) => {
    await world.query(sql, demo.transfers.internal);

    const { exitCode, stderr, report } = await verify();

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^The books are not in order: (one finding|\d+ findings)\.\n$/);
    expect(report.inOrder).toBe(false);
    expect(report.findings.filter((finding) => check.test(finding.check))).toContainEqual(
      expect.objectContaining({ workspaceId: demo.workspaces['Northwind Trading'], detail: expect.any(String) }),
    );
  });

  it('prints each finding with its check and workspace', async () => {
    await world.query(accountOf('balance = balance + 1'), demo.transfers.internal);

    const { exitCode, stdout, stderr } = await world.run(['verify']);

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^the balance of a customer account is the sum .* 1$/m);
    expect(stdout).toMatch(/^Workspace +Finding\n +1 +account \d+ holds \d+/m);
    expect(stdout).not.toMatch(/in order/);
    expect(stderr).toMatch(/^The books are not in order: \d+ findings\.\n$/);
  });

  it('says the verdict once the reader has taken the report', async () => {
    await world.query(accountOf('balance = balance + 1'), demo.transfers.internal);
    const told: string[] = [];
    jest.spyOn(process.stdout, 'write').mockImplementation(((text: string, taken?: () => void) => {
      setImmediate(() => {
        told.push(text);
        taken?.();
      });
      return false;
    }) as typeof process.stdout.write);
    jest.spyOn(console, 'error').mockImplementation((text: string) => void told.push(text));
    jest.replaceProperty(process, 'env', { DATA_DIR: world.dataDir });

    const exitCode = await runCommand(['verify']).finally(() => jest.restoreAllMocks());

    expect(exitCode).toBe(1);
    expect(told.at(-1)).toMatch(/^The books are not in order/);
    expect(told.join('')).toMatch(/\nChecked \d+ workspaces: /);
  });

  it('reports no finding in another workspace', async () => {
    await world.query(accountOf('balance = balance + 1'), demo.transfers.internal);

    const { exitCode, report } = await verify('--workspace', String(demo.workspaces['Southwind Imports']));

    expect({ exitCode, inOrder: report.inOrder, workspaces: report.workspaces }).toEqual({
      exitCode: 0,
      inOrder: true,
      workspaces: 1,
    });
  });
});

/** Changes the account of a transfer. */
function accountOf(change: string): string {
  return `update account set ${change} where id = (select account_id from transfer where id = $1)`;
}
