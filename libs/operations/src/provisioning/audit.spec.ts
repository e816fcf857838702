import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import type { WorkspaceId } from '@banking/domain';
import { addApp, addWorkspace, removeWorkspace, renameApp, renameWorkspace } from './workspaces.js';
import { noteExport, noteToken } from './audit.js';
import {
  addGrant,
  addUser,
  bindUser,
  completeUser,
  removeGrant,
  removeUser,
  renameUser,
  resumeUser,
  suspendUser,
} from './users.js';

const ROSA = { name: 'Rosa', operatingSystemUser: 'rosa' };
const BY_ROSA = { type: 'operator', ...ROSA };
const APP = 'Bank';
const EMAIL = 'ada@bank.example';
const ISSUER = 'https://id.example';

let world: TestDatabase;
let one: number;
let two: number;
let userId: number;

beforeEach(async () => {
  world = await emptyDatabase();
  await addApp(db(), 'setup', APP);
  one = await addWorkspace(db(), 'setup', { app: APP, name: 'One' });
  two = await addWorkspace(db(), 'setup', { app: APP, name: 'Two' });
  await addWorkspace(db(), 'setup', { app: APP, name: 'Three' });
  userId = await addUser(db(), 'setup', { app: APP, email: EMAIL, status: 'pending' });
  for (const workspaceId of [one, two]) await addGrant(db(), 'setup', { workspaceId, email: EMAIL, role: 'member' });
  await world.owner.query(`delete from audit_outbox`);
});
afterEach(() => world.close());

const db = () => world.provisioning;

interface Noted {
  readonly workspaceId: number;
  readonly operation: string;
  readonly resource: string;
  readonly actor: unknown;
}

/** The entries of the outbox in the order in which they were written. */
async function noted(): Promise<readonly Noted[]> {
  const { rows } = await world.owner.query<Noted>(
    `select workspace_id::int as "workspaceId", e ->> 'operation' as operation,
            concat(e ->> 'resourceType', ' ', e ->> 'resourceId') as resource, e -> 'actor' as actor
     from audit_outbox cross join jsonb_array_elements(entries) e order by id`,
  );
  return rows;
}
const inBoth = (operation: string) =>
  [one, two].map((workspaceId) => ({ workspaceId, operation, resource: `user ${userId}`, actor: BY_ROSA }));

describe('the audit trail of a workspace', () => {
  it('has its new name and the changes of its roles, with both names of the operator', async () => {
    const grant = { workspaceId: one, email: EMAIL };
    await renameWorkspace(db(), ROSA, one, 'First');
    await addGrant(db(), ROSA, { ...grant, role: 'admin' });
    await removeGrant(db(), ROSA, grant);
    await addGrant(db(), ROSA, { ...grant, role: 'member' });
    const four = await addWorkspace(db(), ROSA, { app: APP, name: 'Four' });

    const ofUser = { workspaceId: one, resource: `user ${userId}`, actor: BY_ROSA };
    expect(await noted()).toEqual([
      { workspaceId: one, operation: 'renameWorkspace', resource: `workspace ${one}`, actor: BY_ROSA },
      { ...ofUser, operation: 'changeGrant' },
      { ...ofUser, operation: 'removeGrant' },
      { ...ofUser, operation: 'addGrant' },
      { workspaceId: four, operation: 'addWorkspace', resource: `workspace ${four}`, actor: BY_ROSA },
    ]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['completeUser', () => completeUser(db(), ROSA, EMAIL)],
    ['renameUser', () => renameUser(db(), ROSA, EMAIL, 'ada.stone@bank.example')],
    ['bindUser', () => bindUser(db(), ROSA, EMAIL, { issuer: ISSUER, subject: 'ada' })],
    ['removeGrant', () => removeUser(db(), ROSA, EMAIL)],
    ['issueToken', () => noteToken(world.database, ROSA, userId)],
  ])('has %s in each workspace in which the user has a role, and in no other', async (operation, change) => {
    await change();

    expect(await noted()).toEqual(inBoth(operation));
  });

  it('has a suspension and its end', async () => {
    await completeUser(db(), 'setup', EMAIL);
    await suspendUser(db(), ROSA, EMAIL);
    await resumeUser(db(), ROSA, EMAIL);

    expect((await noted()).slice(2)).toEqual([...inBoth('suspendUser'), ...inBoth('resumeUser')]);
  });

  it('has the user whose first sign-in bound a subject', async () => {
    await world.owner.query('select bind_subject($1, $2, $3)', [ISSUER, 'ada', EMAIL]);

    expect((await noted()).map(({ operation, actor }) => ({ operation, actor }))).toEqual(
      [one, two].map(() => ({ operation: 'bindUser', actor: { type: 'user', issuer: ISSUER, subject: 'ada' } })),
    );
  });

  it('has nothing of an app, of a membership, of a removed workspace and of a refused change', async () => {
    await renameApp(db(), ROSA, APP, 'House');
    await addApp(db(), ROSA, 'Shop');
    await addUser(db(), ROSA, { app: 'Shop', email: EMAIL });
    const empty = await addWorkspace(db(), ROSA, { app: 'Shop', name: 'Empty' });
    const before = await noted();
    await removeWorkspace(db(), ROSA, empty);
    await expect(suspendUser(db(), ROSA, EMAIL)).rejects.toThrow('is pending');

    expect(before.map(({ operation }) => operation)).toEqual(['addWorkspace']);
    expect(await noted()).toEqual(before);
  });

  it('has an export with both names of the operator', async () => {
    await noteExport(world.database, ROSA, 'exportBooks', one as WorkspaceId);

    expect(await noted()).toEqual([
      { workspaceId: one, operation: 'exportBooks', resource: `workspace ${one}`, actor: BY_ROSA },
    ]);
  });
});

describe('the audit trail of a workspace of several databases', () => {
  beforeEach(async () => {
    await world.owner.query(`
      insert into cell_identity (number, name) values (0, 'home');
      insert into cell (number, name) values (0, 'home'), (1, 'b');
      insert into workspace_place (workspace_id, cell_number) values (${one}, 0), (${two}, 1)`);
  });

  it('has a change of the directory if home serves the workspace', async () => {
    await completeUser(db(), ROSA, EMAIL);
    await noteToken(world.database, ROSA, userId);
    await noteExport(world.database, ROSA, 'exportBooks', two as WorkspaceId);
    await addGrant(db(), ROSA, { workspaceId: two, email: EMAIL, role: 'admin' });

    expect((await noted()).map(({ workspaceId, operation }) => [workspaceId, operation])).toEqual([
      [one, 'completeUser'],
      [one, 'issueToken'],
    ]);
  });

  it('has its addition at home, and none in another cell or while it is moved', async () => {
    const four = await addWorkspace(db(), ROSA, { app: APP, name: 'Four' });
    await addWorkspace(db(), ROSA, { app: APP, name: 'Five', cell: 'b' });
    await world.owner.query(`update cell_workspace set state = 'moving' where workspace_id = ${one}`);
    await renameWorkspace(db(), ROSA, one, 'First');

    expect((await noted()).map(({ workspaceId, operation }) => [workspaceId, operation])).toEqual([
      [four, 'addWorkspace'],
    ]);
  });
});

describe('the trail of the directory', () => {
  it('has both names of the operator', async () => {
    await renameApp(db(), ROSA, APP, 'House');
    await renameApp(db(), 'setup', 'House', APP);

    const { rows } = await world.owner.query(
      'select changed_by, operating_system_user from directory_change order by id desc limit 2',
    );
    expect(rows).toEqual([
      { changed_by: 'setup', operating_system_user: null },
      { changed_by: 'Rosa', operating_system_user: 'rosa' },
    ]);
  });
});
