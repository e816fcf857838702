import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { administer, copyDataDirTemplate, until } from '@banking/postgres/testing';
import { OPERATOR, World } from './testing/world.js';

const CELLS = { CELLS: '2' };
const world = new World();
let inB: EmbeddedServer;
let workspaceId: string;

beforeAll(async () => {
  // Holds both databases open, as a running service does.
  await world.fill();
  await world.open({ isReplicated: true });
  const dataDir = join(world.dataDir, 'cells/b');
  mkdirSync(dataDir, { recursive: true });
  await copyDataDirTemplate(dataDir);
  inB = await attachEmbeddedServer({ dataDir, isReplicated: true });
  // A copy without its tables is a new database, without the time of a first start.
  await administer(inB.connection, (client) => client.query('drop schema banking cascade'));
  await world.run(['app', 'add', 'Harbour'], CELLS);
  const added = await world.run(['workspace', 'add', 'Shipping', '--app', 'Harbour', '--cell', 'b', '--json'], CELLS);
  workspaceId = String((JSON.parse(added.stdout) as { id: number }).id);
});
afterAll(async () => {
  await inB?.detach();
  await world.close();
});

describe('banking reference apply', () => {
  const listed = async () => {
    const { stdout } = await world.run(['reference', 'list', '--json'], CELLS);
    return (JSON.parse(stdout) as { cell: string; recordedBy: string }[])
      .filter(({ recordedBy }) => recordedBy === OPERATOR)
      .map(({ cell }) => cell);
  };

  it('changes each database once', async () => {
    const file = join(world.dataDir, 'reference.yaml');
    writeFileSync(file, 'swiftMinimums: {}\n');
    const apply = () => world.run(['reference', 'apply', file, '--json'], CELLS);
    const changed = JSON.parse((await apply()).stdout) as object[];
    expect(changed).toMatchObject([
      { cell: 'home', applied: true },
      { cell: 'b', applied: true },
    ]);

    expect(JSON.parse((await apply()).stdout)).toMatchObject([{ differences: [] }, { differences: [] }]);

    writeFileSync(file, 'effectiveAt: 2999-01-01T00:00:00Z\npurposes: []\n');
    expect((await world.run(['reference', 'apply', file], { ...CELLS, CELL: 'b' })).exitCode).toBe(0);
    writeFileSync(file, 'products: []\n');
    expect(await apply()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^Cell b: Another document waits/) as string,
    });
    expect(await listed()).toEqual(['home', 'b', 'b']);
    expect((await world.run(['reference', 'withdraw'], { ...CELLS, CELL: 'b' })).exitCode).toBe(0);
  });
});

describe('banking payouts resume', () => {
  it('resumes each database that has a stop, and names it', async () => {
    await world.query(`insert into payout_stop (finding_count, workspace_ids, findings) values (1, '{}', '[]')`);
    const listed = await world.run(['work', 'list', '--parked'], CELLS);
    const onlyB = await world.run(['payouts', 'resume'], { ...CELLS, CELL: 'b' });

    const { exitCode, stdout } = await world.run(['payouts', 'resume'], CELLS);

    // A finding may be about payments between cells, and about no workspace.
    expect(listed.stdout).toMatch(/^home +payout stop +\d+ +open/m);
    expect(onlyB).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Payouts are not stopped.') as string });
    expect([exitCode, stdout]).toEqual([
      0,
      'Payouts of the cell home are resumed. Those that waited are submitted within five minutes.\n',
    ]);
    expect((await world.run(['work', 'list', '--parked'], CELLS)).stdout).toBe('No work is parked.\n');
  });
});

describe('the copy of the directory', () => {
  /** External databases: embedded ones are made cells by each command, and their copies too. */
  let environment: Record<string, string>;
  const urlOf = ({ host, port, user }: EmbeddedServer['connection']) =>
    `postgres://${user}@localhost:${port}/postgres?host=${encodeURIComponent(host!)}`;
  const setCells = (url: string) =>
    writeFileSync(environment['CELLS_FILE']!, JSON.stringify({ b: { url, homeUrl: environment['DATABASE_URL'] } }));
  const plantInB = (text: string) =>
    administer(inB.connection, (client) =>
      client.query(`set session_replication_role = replica; set search_path = banking; ${text}`),
    );

  beforeAll(() => {
    const home = { ...inB.connection, host: inB.connection.host!.replace('/cells/b', '') };
    environment = { SANDBOX: 'on', DATABASE_URL: urlOf(home), CELLS_FILE: join(world.dataDir, 'cells.json') };
    setCells(urlOf(inB.connection));
  });

  it('is as home has it', async () => {
    const { stdout } = await world.run(['verify', '--json'], environment);

    expect(JSON.parse(stdout)).toMatchObject({
      between: { inOrder: true, checks: expect.arrayContaining(['every cell has the directory of home']) as string[] },
    });
    expect((await world.run(['cell', 'list'], environment)).stdout).not.toMatch(/copy/);
  });

  it('is reported if it lacks changes, and made anew', async () => {
    await plantInB('delete from app_membership; update workspace set name = name || $$ of b$$');

    const verified = await world.run(['verify'], environment);
    const listed = await world.run(['cell', 'list'], environment);
    const json = await world.run(['cell', 'list', '--json'], environment);
    const fault = 'the copy of the directory in the cell b lacks changes of home (app_membership ';

    expect(verified).toMatchObject({ exitCode: 1, stdout: expect.stringContaining(fault) as string });
    expect(listed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`Cell b: ${fault}`) as string });
    expect(listed.stdout).toMatch(/: run banking cell add b[.]$/m);
    expect(
      (JSON.parse(json.stdout) as { copyFault?: string }[]).map(({ copyFault }) => copyFault?.includes(fault)),
    ).toEqual([undefined, true]);

    expect(await world.run(['cell', 'add', 'b'], environment)).toMatchObject({ exitCode: 0 });
    expect((await world.run(['cell', 'list'], environment)).stdout).not.toMatch(/copy/);
  });

  it('has a new workspace when the command ends', async () => {
    const { stdout } = await world.run(
      ['workspace', 'add', 'Served', '--app', 'Harbour', '--cell', 'b', '--json'],
      environment,
    );
    const { id } = JSON.parse(stdout) as { id: number };
    const { rows } = await administer(inB.connection, (client) =>
      client.query(`select state from banking.cell_workspace where workspace_id = ${id}`),
    );

    expect(rows).toEqual([{ state: 'open' }]);
  });

  it('is named where the cell of a new workspace does not answer', async () => {
    setCells('postgres://postgres@localhost:1/postgres');

    const added = await world.run(['workspace', 'add', 'Late', '--app', 'Harbour', '--cell', 'b'], environment);

    expect(added).toMatchObject({ exitCode: 1, stdout: '' });
    expect(added.stderr).toMatch(/Workspace \d+ was added, and the cell b does not serve it yet: /);
    setCells(urlOf(inB.connection));
  });

  it('receives no workspace that it would never learn of', async () => {
    await plantInB('alter subscription banking_directory disable');
    await until(async () => {
      await world.query(`select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active`);
      return (await world.query('select from pg_replication_slots')).length === 0;
    });

    const added = await world.run(['workspace', 'add', 'Never', '--app', 'Harbour', '--cell', 'b'], environment);
    const listed = await world.run(['cell', 'list'], environment);

    expect(added.stderr).toContain(
      'The copy of the directory in the cell b cannot follow home, so b would not serve the workspace. Nothing was added. ' +
        'Run banking cell add b first.',
    );
    expect(listed.stdout).toContain(
      'Cell b: the copy of the directory in the cell b cannot follow home: run banking cell add b.',
    );
    expect(await world.run(['cell', 'add', 'b'], environment)).toMatchObject({ exitCode: 0 });
    expect(
      (await world.run(['workspace', 'add', 'Never', '--app', 'Harbour', '--cell', 'b'], environment)).exitCode,
    ).toBe(0);
  });
});

describe('banking cell move', () => {
  it('moves a workspace, which is archived then', async () => {
    const moved = await world.run(['cell', 'move', workspaceId, '--to', 'home'], CELLS);
    expect(moved).toMatchObject({ exitCode: 0, stderr: '' });
    expect(moved.stdout).toBe(
      `Workspace ${workspaceId} is in the cell home. Its former cell has its rows, closed. Remove them: banking cell archive ${workspaceId}\n`,
    );

    const list = await world.run(['workspace', 'list', '--json'], CELLS);
    expect(JSON.parse(list.stdout)).toContainEqual(
      expect.objectContaining({ id: Number(workspaceId), name: 'Shipping', cell: 'home' }),
    );
    const again = await world.run(['cell', 'move', workspaceId, '--to', 'home', '--json'], CELLS);
    expect(JSON.parse(again.stdout)).toEqual({ workspaceId: Number(workspaceId), cell: 'home' });
    const third = await world.run(['cell', 'move', workspaceId, '--to', 'home'], CELLS);
    expect(third.stdout).toBe(`Workspace ${workspaceId} is in the cell home.\n`);

    const archived = await world.run(['cell', 'archive', workspaceId, '--json'], CELLS);
    expect(JSON.parse(archived.stdout)).toMatchObject([{ cell: 'b' }]);
  });

  it('names a workspace that its cell has lost, and lets the former cell serve it again', async () => {
    expect(await world.run(['cell', 'move', workspaceId, '--to', 'b'], CELLS)).toMatchObject({ exitCode: 0 });
    // As a restore of b to a moment before the move.
    await administer(inB.connection, (client) =>
      client.query(`delete from banking.cell_workspace where workspace_id = ${workspaceId}`),
    );
    const fault = `the cell b does not serve workspace ${workspaceId}, which home places there`;
    const run = (...args: readonly string[]) => world.run(args, CELLS);

    const [all, one] = [await run('verify'), await run('verify', '--workspace', workspaceId)];
    expect(all).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(
        new RegExp(`^every workspace is served by the cell in which home places it +1$`, 'm'),
      ) as string,
    });
    expect(all.stdout).toContain(fault);
    expect(one).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining(fault) as string });
    expect(await run('personal-data', 'erase', '--recipient', '1', '--workspace', workspaceId)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^A workspace is not open in the database .*: it is being moved, .*\n$/) as string,
    });
    const inCell = await world.run(['verify', '--json'], { ...CELLS, CELL: 'b' });
    expect(JSON.parse(inCell.stdout)).toMatchObject({ inOrder: false });
    expect(inCell.stdout).toContain(fault);
    expect((await run('cell', 'list')).stdout).toContain(`Cell b: ${fault}`);
    expect(await run('cell', 'move', workspaceId, '--to', 'b')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(
        `serve it again, which has its rows from before the move: banking cell move ${workspaceId} --abandon.`,
      ) as string,
    });

    expect(await run('cell', 'move', workspaceId, '--abandon')).toMatchObject({ exitCode: 0 });
    expect((await run('verify', '--workspace', workspaceId)).stdout).toMatch(/The books are in order/);
    expect((await run('cell', 'list')).stdout).not.toContain(fault);
  });

  it.each([
    [
      'an unknown workspace',
      ['cell', 'move', '999', '--to', 'b'],
      1,
      'There is no workspace 999. See banking workspace list.',
    ],
    ['no target', ['cell', 'move', '1'], 2, "error: required option '--to <cell>' not specified, or '--abandon'"],
    [
      '--to together with --abandon',
      ['cell', 'move', '1', '--to', 'b', '--abandon'],
      2,
      "option '--abandon' cannot be used with option '--to <cell>'",
    ],
    ['a window of zero', ['cell', 'move', '1', '--to', 'b', '--window', '0'], 2, 'Write seconds, such as 2.5 or 10.'],
    ['no move', ['cell', 'move', '1', '--abandon'], 1, 'Workspace 1 is not being moved. See banking cell list.'],
  ])('refuses %s', async (_, args, exitCode, message) => {
    const run = await world.run(args, CELLS);

    expect(run.exitCode).toBe(exitCode);
    expect(run.stderr).toContain(message);
  });

  it('refuses an unknown cell', async () => {
    const run = await world.run(['cell', 'move', workspaceId, '--to', 'z'], CELLS);

    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain('CELLS_FILE has no cell "z". Add it with its url.');
  });

  it('refuses a deployment with one database', async () => {
    const run = await world.run(['cell', 'archive', '1'], {});

    expect(run).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('The deployment has one database.') as string,
    });
  });

  it('names CELLS where a command lacks it', async () => {
    await inB.detach();
    await world.leave();

    const run = await world.run(['work', 'list']);

    expect(run.exitCode).toBe(1);
    expect(run.stderr).toMatch(/is one of several that belong together\. Set CELLS to their number/);
  });
});
