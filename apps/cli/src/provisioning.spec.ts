import { userInfo } from 'node:os';
import type { AppRow, GrantRow, UserRow, WorkspaceRow } from '@banking/operations/provisioning';
import { World } from './testing/world.js';

const APP = 'Harbour Treasury';
const MIA = 'mia@harbour.example';
const ME = `cli:${userInfo().username}`;
const world = new World();

beforeAll(() => world.openDemo());
afterAll(() => world.close());

/** The changes after an entry of the trail, with their actors, oldest first. */
async function trailSince(id: unknown) {
  const rows = await world.query(
    'select changed_by, relation, action from directory_change where id > $1 order by id',
    id,
  );
  return rows.map(({ changed_by, relation, action }) => `${String(changed_by)}: ${String(action)} ${String(relation)}`);
}

async function trailEnd(): Promise<unknown> {
  const [last] = await world.query('select coalesce(max(id), 0) as id from directory_change');
  return last?.id;
}

async function refusal(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await world.run(args);
  expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 1, stdout: '' });
  expect(stderr).not.toMatch(/ at .*:\d+:\d+/);
  return stderr;
}

describe('the commands of the directory', () => {
  it('add and remove apps, users, workspaces and grants, recorded in lists and audit trail', async () => {
    await world.json('app', 'list');
    const start = await trailEnd();

    const app = await world.json<AppRow>('app', 'add', APP);
    const user = await world.json<UserRow>('user', 'add', 'Mia@Harbour.example', '--app', APP, '--status', 'pending');
    const space = await world.json<WorkspaceRow>('workspace', 'add', 'Shipping', '--app', APP, '--type', 'personal');
    const id = String(space.id);
    await world.json('grant', 'add', MIA, '--workspace', id, '--role', 'member');
    const grant = await world.json<GrantRow>('grant', 'add', MIA, '--workspace', id, '--role', 'admin', '--as', 'Rosa');

    expect(app).toMatchObject({ name: APP, users: 0, workspaces: 0 });
    expect(user).toMatchObject({ email: MIA, status: 'pending', userType: 'business', apps: [APP], identities: [] });
    expect(space).toMatchObject({ name: 'Shipping', type: 'personal', app: APP });
    expect(grant).toMatchObject({ email: MIA, role: 'admin', workspaceId: space.id, workspace: 'Shipping' });
    expect(await world.json('app', 'list')).toContainEqual({ ...app, users: 1, workspaces: 1 });
    expect(await world.json('user', 'list')).toContainEqual(user);
    expect(await world.json('workspace', 'list')).toContainEqual(space);
    expect(await world.json('grant', 'list', '--workspace', id)).toEqual([grant]);

    expect(await world.json('grant', 'remove', MIA, '--workspace', id)).toEqual({
      removed: { email: MIA, workspaceId: space.id },
    });
    expect(await world.json('workspace', 'remove', id)).toEqual({ removed: space.id });
    expect(await world.json('user', 'remove', MIA, '--as', 'Rosa')).toEqual({ removed: MIA });
    expect(await world.json('app', 'remove', APP)).toEqual({ removed: APP });

    expect(await trailSince(start)).toEqual([
      `${ME}: insert app`,
      `${ME}: insert app_user`,
      `${ME}: insert app_membership`,
      `${ME}: insert workspace`,
      `${ME}: insert workspace_role`,
      'Rosa: update workspace_role',
      `${ME}: delete workspace_role`,
      `${ME}: delete workspace`,
      'Rosa: delete app_user',
      'Rosa: delete app_membership',
      `${ME}: delete app`,
    ]);
  });

  it('add a service account by its subject', async () => {
    await world.json('app', 'add', APP);
    const subject = ['--issuer', 'https://login.harbour.example', '--subject', 'payroll'];
    await world.json('user', 'add', 'payroll@harbour.example', '--app', APP, ...subject);

    const users = await world.json<readonly UserRow[]>('user', 'list');
    expect(users.find(({ email }) => email === 'payroll@harbour.example')?.identities).toEqual([
      { issuer: 'https://login.harbour.example', subject: 'payroll' },
    ]);
    expect(await refusal('user', 'add', MIA, '--app', APP, ...subject)).toMatch(/that subject is bound to a user/);
    expect(await refusal('user', 'bind', 'bob@northwind.example', ...subject)).toMatch(/bound to another user/);
    const { stdout } = await world.run(['user', 'bind', 'bob@northwind.example', ...subject.with(-1, '4711')]);
    expect(stdout).toBe('Bound the subject 4711 of https://login.harbour.example to bob@northwind.example.\n');
  });

  it('add an existing user to another app without changing the user', async () => {
    const bob = await world.json<UserRow>('user', 'add', 'bob@northwind.example', '--app', APP);

    expect(bob).toMatchObject({ status: 'completed', apps: ['Northwind Treasury', APP] });
    expect(await refusal('user', 'add', 'bob@northwind.example', '--app', 'Southwind', '--status', 'pending')).toMatch(
      /is a user already, completed and business/,
    );
  });

  it('complete, suspend, resume and rename a user', async () => {
    const lou = 'lou@southwind.example';
    await world.json('user', 'add', lou, '--app', 'Southwind', '--status', 'pending');
    const start = await trailEnd();

    const { stdout } = await world.run(['user', 'complete', lou]);
    expect(stdout).toBe(`The status of ${lou} is now completed.\n`);
    expect(await world.json('user', 'suspend', 'Lou@Southwind.example')).toMatchObject({
      email: lou,
      status: 'suspended',
    });
    const { stdout: list } = await world.run(['user', 'list']);
    expect(list).toMatch(/lou@southwind\.example +suspended +business +Southwind/);
    expect(await refusal('user', 'suspend', lou)).toMatch(
      /^lou@southwind.example is suspended, and only a user who is completed/,
    );
    expect(await world.json('user', 'resume', lou, '--as', 'Rosa')).toMatchObject({ status: 'completed' });
    const renamed = await world.run(['user', 'rename', lou, 'Lou.Reed@Southwind.example', '--as', 'Rosa']);
    expect(renamed.stdout).toMatch(
      /^Renamed user \d+ from lou@southwind\.example to lou\.reed@southwind\.example\.\n$/,
    );

    const [me, rosa] = [`${ME}: update app_user`, 'Rosa: update app_user'];
    expect(await trailSince(start)).toEqual([me, me, rosa, rosa]);
  });

  it('rename an app and a workspace', async () => {
    await world.json('app', 'add', 'Quay');
    const { id } = await world.json<WorkspaceRow>('workspace', 'add', 'East', '--app', 'Quay');

    const { stdout } = await world.run(['app', 'rename', 'Quay', 'Pier']);
    expect(stdout).toMatch(/^Renamed app \d+ from Quay to Pier\.\n$/);
    expect(await world.run(['workspace', 'rename', String(id), 'West'])).toMatchObject({
      stdout: `Renamed workspace ${id} to West.\n`,
    });

    expect(await world.json('workspace', 'list')).toContainEqual(
      expect.objectContaining({ id, name: 'West', app: 'Pier' }),
    );
    expect(await world.json('app', 'list')).toContainEqual(expect.objectContaining({ name: 'Pier', workspaces: 1 }));
  });

  it('print tables and sentences without --json', async () => {
    const { stdout: list } = await world.run(['workspace', 'list']);
    const { stdout: roles } = await world.run(['grant', 'list', '--workspace', '1']);

    expect(list.split('\n')[0]).toMatch(/^Id +Name +Type +App +Added$/);
    expect(list.split('\n')[1]).toMatch(/^ *1 +Northwind Trading +business +Northwind Treasury +\d{4}-/);
    expect(roles.trimEnd().split('\n')).toHaveLength(4);
  });

  it('escape control characters of a name', async () => {
    await world.query(`insert into app (name) values ('Har' || chr(27) || '[31mbour')`);

    const { stdout } = await world.run(['app', 'list']);

    expect(stdout).toContain('Har\\x1b[31mbour');
  });

  it('refuse an impossible change with its reason', async () => {
    expect(await refusal('app', 'add', 'Southwind')).toBe('There is an app named Southwind already.\n');
    expect(await refusal('app', 'remove', 'Nowhere')).toMatch(/^There is no app named Nowhere/);
    expect(await refusal('app', 'remove', 'Southwind')).toMatch(/still has users or workspaces/);
    expect(await refusal('user', 'add', MIA, '--app', 'Nowhere')).toMatch(/^There is no app named Nowhere/);
    expect(await refusal('user', 'add', 'mia', '--app', APP)).toMatch(/^mia is not an e-mail address in ASCII/);
    expect(await refusal('user', 'remove', MIA)).toMatch(/^There is no user mia@harbour.example/);
    expect(await refusal('workspace', 'add', 'Shipping', '--app', 'Nowhere')).toMatch(/^There is no app named Nowhere/);
    expect(await refusal('workspace', 'remove', '1')).toMatch(/kept for ever/);
    expect(await refusal('workspace', 'remove', '987654')).toMatch(/^There is no workspace 987654/);
    expect(await refusal('grant', 'list', '--workspace', '987654')).toMatch(/^There is no workspace 987654/);
    expect(await refusal('grant', 'add', MIA, '--workspace', '1', '--role', 'admin')).toMatch(
      /is not a user of its app/,
    );
    expect(await refusal('grant', 'remove', MIA, '--workspace', '1')).toMatch(/has no role in workspace 1/);
    expect(await refusal('verify', '--workspace', '987654')).toMatch(/^There is no workspace 987654/);
  });
});
