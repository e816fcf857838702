import type { Database } from '@banking/postgres';
import { LedgerDirectory } from '../apps/directory.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { verifyDirectory } from '../verification/verify-trails.js';
import { reasonOf } from '@banking/postgres/testing';
import { addApp, addWorkspace, allApps, allWorkspaces, renameApp, renameWorkspace } from './workspaces.js';
import { addGrants, addUser, allUsers, bindUser, completeUser, renameUser, resumeUser, suspendUser } from './users.js';

const APP = 'Bank';
const ISSUER = 'https://id.example';
let world: TestDatabase;
let workspaceId: number;
let users = 0;

beforeAll(async () => {
  world = await emptyDatabase();
  await addApp(db(), 'ops', APP);
  await addApp(db(), 'ops', 'Shop');
  workspaceId = await addWorkspace(db(), 'ops', { app: APP, name: 'One' });
  await addWorkspace(db(), 'ops', { app: APP, name: 'Two' });
});
afterAll(async () => {
  const findings = await verifyDirectory(world.database, [workspaceId]);
  await world.close();
  expect(findings).toEqual([]);
});

const db = () => world.provisioning;

/** A user with a role in the workspace. */
async function given(status = 'completed') {
  users += 1;
  const email = `user${users}@bank.example`;
  const id = await addUser(db(), 'ops', { email, app: APP, status });
  await addGrants(db(), 'ops', { workspaceId, email, roles: ['member'] });
  return { id, email };
}

const statusOf = async (email: string) => (await allUsers(db())).find((row) => row.email === email)?.status;
const signIn = (subject: string, email?: string) =>
  new LedgerDirectory(world.database).userOf({ issuer: ISSUER, subject, email });

async function lastChange() {
  const { rows } = await world.owner.query<{ by: string; what: string; record: Record<string, unknown> }>(
    `select operating_system_user as by, action || ' ' || relation as what, record from directory_change order by id desc limit 1`,
  );
  return rows[0];
}

type Change = (database: Database, actor: string, email: string) => Promise<void>;

describe('the status of a user', () => {
  it.each<[string, string, Change, number]>([
    ['completed', 'pending', completeUser, 1],
    ['suspended', 'completed', suspendUser, 0],
    ['completed', 'suspended', resumeUser, 1],
  ])('changes the roles and the audit trail if it becomes %s from %s', async (to, from, change, roles) => {
    const { id, email } = await given(from);
    await signIn(`s-${id}`, email);

    await change(db(), 'Rosa', email.toUpperCase());

    expect(await statusOf(email)).toBe(to);
    expect((await signIn(`s-${id}`))?.grants).toHaveLength(roles);
    expect(await lastChange()).toMatchObject({ by: 'Rosa', what: 'update app_user', record: { id, status: to } });
  });

  it.each<[string, Change, string, string]>([
    [
      'complete',
      completeUser,
      'completed',
      'only a user who is pending can be completed. To take the roles away, run banking user suspend.',
    ],
    [
      'complete',
      completeUser,
      'suspended',
      'only a user who is pending can be completed. To give the roles back, run banking user resume.',
    ],
    [
      'suspend',
      suspendUser,
      'pending',
      'only a user who is completed can be suspended. To give the user the granted roles, run banking user complete.',
    ],
    [
      'suspend',
      suspendUser,
      'suspended',
      'only a user who is completed can be suspended. To give the roles back, run banking user resume.',
    ],
    [
      'resume',
      resumeUser,
      'completed',
      'only a user who is suspended can be resumed. To take the roles away, run banking user suspend.',
    ],
    [
      'resume',
      resumeUser,
      'pending',
      'only a user who is suspended can be resumed. To give the user the granted roles, run banking user complete.',
    ],
    [
      'resume',
      resumeUser,
      'blocked',
      'only a user who is suspended can be resumed. Remove the user and add the user again.',
    ],
  ])('does not change if %s is impossible, and the message states what to do', async (_, change, status, advice) => {
    const { email } = await given(status);
    const before = await lastChange();

    expect(await reasonOf(change(db(), 'ops', email))).toBe(`${email} is ${status}, and ${advice}`);

    expect(await statusOf(email)).toBe(status);
    expect(await lastChange()).toEqual(before);
  });

  it('is refused for an unknown user', async () => {
    for (const change of [completeUser, suspendUser, resumeUser]) {
      expect(await reasonOf(change(db(), 'ops', 'x@x.example'))).toBe(
        'There is no user x@x.example. See banking user list.',
      );
    }
  });

  it('is changed by one of many concurrent requests', async () => {
    const { email } = await given();
    const results = await Promise.all(Array.from({ length: 6 }, () => reasonOf(suspendUser(db(), 'ops', email))));

    expect(results.filter((result) => result === undefined)).toHaveLength(1);
  });
});

describe('the e-mail of a user', () => {
  it('changes in lower case, with bound subjects and an audit entry', async () => {
    const { id, email } = await given();
    const before = await signIn(`s-${id}`, email);

    await renameUser(db(), 'Rosa', email, `Renamed${id}@Bank.Example`);

    expect(await signIn(`s-${id}`)).toEqual(before);
    expect((await allUsers(db())).find((row) => row.id === id)?.email).toBe(`renamed${id}@bank.example`);
    expect(await lastChange()).toMatchObject({ by: 'Rosa', record: { id } });
  });

  it('leaves a bound subject with the renamed user if another user gets it', async () => {
    const { id, email } = await given();
    await signIn(`s-${id}`, email);
    await renameUser(db(), 'ops', email, `former${id}@bank.example`);
    const successor = await addUser(db(), 'ops', { email, app: APP });

    expect((await signIn(`s-${id}`, email))?.id).toBe(id);
    expect((await signIn(`s-${successor}`, email))?.id).toBe(successor);
    expect((await signIn(`s-${id}`, email))?.id).toBe(id);
  });

  it('is unknown after a rename without a bound subject', async () => {
    const { id, email } = await given();
    await renameUser(db(), 'ops', email, `moved${id}@bank.example`);

    expect(await signIn(`late-${id}`, email)).toBeUndefined();
    expect((await signIn(`late-${id}`, `moved${id}@bank.example`))?.id).toBe(id);
  });

  it('is refused if it is in use or invalid, or if the user is unknown', async () => {
    const [{ email }, other] = [await given(), await given()];

    expect(await reasonOf(renameUser(db(), 'ops', email, other.email.toUpperCase()))).toBe(
      `${other.email} is a user already. See banking user list.`,
    );
    expect(await reasonOf(renameUser(db(), 'ops', email, 'no-address'))).toContain('is not an e-mail address in ASCII');
    expect(await reasonOf(renameUser(db(), 'ops', 'x@x.example', email))).toBe(
      'There is no user x@x.example. See banking user list.',
    );
    expect((await allUsers(db())).map((row) => row.email)).toContain(email);
  });
});

describe('the subject of a user', () => {
  it('is bound by provisioning, with an audit entry', async () => {
    const { id, email } = await given();

    await bindUser(db(), 'Rosa', email.toUpperCase(), { issuer: ISSUER, subject: `bound-${id}` });

    expect((await signIn(`bound-${id}`))?.id).toBe(id);
    expect(await lastChange()).toMatchObject({ by: 'Rosa', what: 'insert user_identity', record: { user_id: id } });
  });

  it('is refused if either is bound, or if the user is unknown', async () => {
    const [one, other] = [await given(), await given()];
    const subject = `bound-${one.id}`;
    await bindUser(db(), 'ops', one.email, { issuer: ISSUER, subject });

    const taken =
      'has a subject of this issuer already, or that subject is bound to another user. See banking user list --json.';
    expect(await reasonOf(bindUser(db(), 'ops', other.email, { issuer: ISSUER, subject }))).toBe(
      `${other.email} ${taken}`,
    );
    expect(await reasonOf(bindUser(db(), 'ops', one.email, { issuer: ISSUER, subject: 'x' }))).toBe(
      `${one.email} ${taken}`,
    );
    expect(await reasonOf(bindUser(db(), 'ops', 'x@x.example', { issuer: ISSUER, subject: 'x' }))).toBe(
      'There is no user x@x.example. See banking user list.',
    );
  });
});

describe('the names of an app and a workspace', () => {
  it('change in the lists, with an audit entry', async () => {
    await renameApp(db(), 'Rosa', 'Shop', 'Shop of us');
    expect(await lastChange()).toMatchObject({ by: 'Rosa', what: 'update app', record: { name: 'Shop of us' } });
    await renameWorkspace(db(), 'Rosa', workspaceId, 'First');
    expect(await lastChange()).toMatchObject({ by: 'Rosa', what: 'update workspace', record: { name: 'First' } });

    expect((await allApps(db())).map(({ name }) => name)).toEqual([APP, 'Shop of us']);
    expect((await allWorkspaces(db())).map(({ name }) => name)).toEqual(['First', 'Two']);
  });

  it('are refused if they are in use, or if the app or the workspace is unknown', async () => {
    expect(await reasonOf(renameApp(db(), 'ops', 'Shop of us', APP))).toBe('There is an app named Bank already.');
    expect(await reasonOf(renameApp(db(), 'ops', 'Nowhere', 'X'))).toBe(
      'There is no app named Nowhere. See banking app list.',
    );
    expect(await reasonOf(renameWorkspace(db(), 'ops', workspaceId, 'Two'))).toBe(
      `The app of workspace ${workspaceId} has a workspace named Two already.`,
    );
    expect(await reasonOf(renameWorkspace(db(), 'ops', 999, 'X'))).toBe(
      'There is no workspace 999. See banking workspace list.',
    );
  });
});
