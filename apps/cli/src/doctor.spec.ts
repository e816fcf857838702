import { World } from './testing/world.js';

const LIVE = { SANDBOX: 'off', OIDC_ISSUER: 'https://login.example', OIDC_AUDIENCE: 'banking' };
const MIA = 'mia@harbour.example';
const NOAH = 'noah@harbour.example';

describe('banking doctor', () => {
  const world = new World();
  const run = (...args: readonly string[]) => world.run(args, LIVE);
  const doctor = async () => {
    const { exitCode, stdout, stderr } = await run('doctor', '--json');
    const gaps = JSON.parse(stdout) as readonly { workspaceId: number; kind: string; detail: string }[];
    return { exitCode, stderr, gaps: gaps.map(({ workspaceId, kind }) => [workspaceId, kind]) };
  };

  beforeAll(async () => {
    await world.open();
    await run('migrate');
    await run('app', 'add', 'Harbour');
    for (const email of [MIA, NOAH]) await run('user', 'add', email, '--app', 'Harbour');
  });
  afterAll(() => world.close());

  it('finds nothing without a workspace', async () => {
    const { exitCode, stdout } = await run('doctor');

    expect([exitCode, stdout]).toEqual([0, 'Nothing is missing.\n']);
  });

  it('says what each workspace lacks, until it has it', async () => {
    await run('workspace', 'add', 'Shipping', '--app', 'Harbour', '--time-zone', 'Europe/Berlin');
    const { exitCode, stdout, stderr } = await run('doctor');

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^Workspace {2}Gap\n {8}1 {2}has no limits: .*\n {8}1 {2}has no administrator: .*\n$/);
    expect(stderr).toBe('There are 2 gaps.\n');

    await run('grant', 'add', MIA, '--workspace', '1', '--role', 'admin');
    expect((await doctor()).gaps).toEqual([
      [1, 'limits'],
      [1, 'administrators'],
    ]);
    await run('grant', 'add', NOAH, '--workspace', '1', '--role', 'admin');
    await world.query(
      `insert into limit_list (workspace_id, version, limit_count, currency_ids, time_zone) values (1, 1, 1, '{}', 'UTC')`,
    );
    expect(await doctor()).toEqual({ exitCode: 0, stderr: '', gaps: [] });
  });

  it('says which approval rules one administrator could remove alone', async () => {
    const setRules = (version: number, ...groups: readonly string[]) =>
      world.query(
        `insert into approval_rules (workspace_id, version, rules)
         select 1, ${version}, coalesce(jsonb_agg(jsonb_build_object('operations', g, 'approvals', 1, 'roles', '["admin"]'::jsonb)), '[]')
         from unnest('{${String(groups)}}'::text[]) g`,
      );
    await setRules(1, 'endpoints', 'members');
    const { exitCode, stdout } = await run('doctor');

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^Workspace {2}Gap\n {8}1 {2}has approval rules, but none for limits, rules: .*\n$/);

    await setRules(2, 'limits', 'members', 'rules');
    expect((await doctor()).gaps).toEqual([]);
    await setRules(3);
    expect((await doctor()).gaps).toEqual([]);
  });

  it('refuses a workspace that does not exist', async () => {
    expect(await run('doctor', '--workspace', '9')).toMatchObject({
      exitCode: 1,
      stderr: 'There is no workspace 9. See banking workspace list.\n',
    });
  });

  it('finds nothing in a sandbox, whose money is not real', async () => {
    const sandbox = new World();
    await sandbox.openDemo();

    expect(await sandbox.run(['doctor'])).toMatchObject({ exitCode: 0, stdout: 'Nothing is missing.\n' });
    await sandbox.close();
  });
});
