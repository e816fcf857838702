import type { Database } from '@banking/postgres';
import { LedgerDirectory } from '../ledger-directory.js';
import { emptyWorld, wordOf, type World } from '../testing/worlds.js';
import { verifyDirectory } from '../verify-trails.js';
import { addApp, addGrant, addUser, addWorkspace, allApps, allUsers, allWorkspaces, bindUser, completeUser, renameApp, renameUser, renameWorkspace, resumeUser, suspendUser } from './index.js'; // prettier-ignore

const APP = 'Bank';
const ISSUER = 'https://id.example';

let world: World;
let workspaceId: number;
let users = 0;

beforeAll(async () => {
  world = await emptyWorld();
  await addApp(db(), 'ops', APP);
  await addApp(db(), 'ops', 'Shop');
  workspaceId = await addWorkspace(db(), 'ops', { app: APP, name: 'One' });
  await addWorkspace(db(), 'ops', { app: APP, name: 'Two' });
});
afterAll(() => world.close());
afterEach(async () => expect(await verifyDirectory(world.database, [workspaceId])).toEqual([]));

const db = () => world.provisioning;

/** A user with a role in the workspace. */
async function given(status = 'completed') {
  users += 1;
  const email = `user${users}@bank.example`;
  const id = await addUser(db(), 'ops', { email, app: APP, status });
  await addGrant(db(), 'ops', { workspaceId, email, role: 'member' });
  return { id, email };
}

const statusOf = async (email: string) => (await allUsers(db())).find((row) => row.email === email)?.status;
const signIn = (subject: string, email?: string) =>
  new LedgerDirectory(world.database).userOf({ issuer: ISSUER, subject, email });

async function lastChange() {
  const { rows } = await world.owner.query<{ by: string; what: string; record: Record<string, unknown> }>(
    `select changed_by as by, action || ' ' || relation as what, record from directory_change order by id desc limit 1`,
  );
  return rows[0];
}

type Change = (database: Database, actor: string, email: string) => Promise<void>;

describe('Given a user with a status', () => {
  it.each<[string, string, Change, number]>([
    ['completed', 'pending', completeUser, 1],
    ['suspended', 'completed', suspendUser, 0],
    ['completed', 'suspended', resumeUser, 1],
  ])('When the user becomes %s from %s, Then the roles follow, and the trail says who did it', async (to, from, change, roles) => {
    const { id, email } = await given(from);
    await signIn(`s-${id}`, email);

    await change(db(), 'Rosa', email.toUpperCase());

    expect(await statusOf(email)).toBe(to);
    expect((await signIn(`s-${id}`))?.grants).toHaveLength(roles);
    expect(await lastChange()).toMatchObject({ by: 'Rosa', what: 'update app_user', record: { id, status: to } });
  }); // prettier-ignore

  it.each<[string, Change, string, string]>([
    ['complete', completeUser, 'completed', 'only a user who is pending can be completed. To take the roles away, run banking user suspend.'],
    ['complete', completeUser, 'suspended', 'only a user who is pending can be completed. To give the roles back, run banking user resume.'],
    ['suspend', suspendUser, 'pending', 'only a user who is completed can be suspended. To give the user the granted roles, run banking user complete.'],
    ['suspend', suspendUser, 'suspended', 'only a user who is completed can be suspended. To give the roles back, run banking user resume.'],
    ['resume', resumeUser, 'completed', 'only a user who is suspended can be resumed. To take the roles away, run banking user suspend.'],
    ['resume', resumeUser, 'pending', 'only a user who is suspended can be resumed. To give the user the granted roles, run banking user complete.'],
    ['resume', resumeUser, 'blocked', 'only a user who is suspended can be resumed. Remove the user and add the user again.'],
  ])('When %s is not possible for the status, Then nothing changes, and the message says what to do', async (_, change, status, advice) => {
    const { email } = await given(status);
    const before = await lastChange();

    expect(await wordOf(change(db(), 'ops', email))).toBe(`${email} is ${status}, and ${advice}`);

    expect(await statusOf(email)).toBe(status);
    expect(await lastChange()).toEqual(before);
  }); // prettier-ignore

  it('When there is no such user, Then the message says so', async () => {
    for (const change of [completeUser, suspendUser, resumeUser]) {
      expect(await wordOf(change(db(), 'ops', 'x@x.example'))).toBe('There is no user x@x.example. See banking user list.'); // prettier-ignore
    }
  });

  it('When many suspend the user at once, Then one has done it', async () => {
    const { email } = await given();

    const results = await Promise.all(Array.from({ length: 6 }, () => wordOf(suspendUser(db(), 'ops', email))));

    expect(results.filter((result) => result === undefined)).toHaveLength(1);
  });
});

describe('Given a user who is renamed', () => {
  it('When the e-mail is written in any case, Then it is folded, bound subjects stay, and the trail says who did it', async () => {
    const { id, email } = await given();
    const before = await signIn(`s-${id}`, email);

    await renameUser(db(), 'Rosa', email, `Renamed${id}@Bank.Example`);

    expect(await signIn(`s-${id}`)).toEqual(before);
    expect((await allUsers(db())).find((row) => row.id === id)?.email).toBe(`renamed${id}@bank.example`);
    expect(await lastChange()).toMatchObject({ by: 'Rosa', record: { id, email: `renamed${id}@bank.example` } });
  });

  it('When another user gets the former e-mail, Then the bound subject still names the renamed user, and only another one binds', async () => {
    const { id, email } = await given();
    await signIn(`s-${id}`, email);
    await renameUser(db(), 'ops', email, `former${id}@bank.example`);
    const successor = await addUser(db(), 'ops', { email, app: APP });

    expect((await signIn(`s-${id}`, email))?.id).toBe(id);
    expect((await signIn(`s-${successor}`, email))?.id).toBe(successor);
    expect((await signIn(`s-${id}`, email))?.id).toBe(id);
  });

  it('When no subject was bound, Then the former e-mail is no user any more', async () => {
    const { id, email } = await given();
    await renameUser(db(), 'ops', email, `moved${id}@bank.example`);

    expect(await signIn(`late-${id}`, email)).toBeUndefined();
    expect((await signIn(`late-${id}`, `moved${id}@bank.example`))?.id).toBe(id);
  });

  it('When the new e-mail is taken or none, or there is no such user, Then the message says so', async () => {
    const [{ email }, other] = [await given(), await given()];

    expect(await wordOf(renameUser(db(), 'ops', email, other.email.toUpperCase()))).toBe(`${other.email} is a user already. See banking user list.`); // prettier-ignore
    expect(await wordOf(renameUser(db(), 'ops', email, 'nobody'))).toContain('is not an e-mail address in ASCII');
    expect(await wordOf(renameUser(db(), 'ops', 'x@x.example', email))).toBe('There is no user x@x.example. See banking user list.'); // prettier-ignore
    expect((await allUsers(db())).map((row) => row.email)).toContain(email);
  });
});

describe('Given a user whose subject is not bound', () => {
  it('When a subject is bound by provisioning, Then it is that user without any e-mail, and the trail says who did it', async () => {
    const { id, email } = await given();

    await bindUser(db(), 'Rosa', email.toUpperCase(), { issuer: ISSUER, subject: `bound-${id}` });

    expect((await signIn(`bound-${id}`))?.id).toBe(id);
    expect(await lastChange()).toMatchObject({ by: 'Rosa', what: 'insert user_identity', record: { user_id: id } });
  });

  it('When the user has a subject, the subject a user, or there is no such user, Then the message says so', async () => {
    const [one, other] = [await given(), await given()];
    const subject = `bound-${one.id}`;
    await bindUser(db(), 'ops', one.email, { issuer: ISSUER, subject });

    const taken =
      'has a subject of this issuer already, or that subject is bound to another user. See banking user list --json.';
    expect(await wordOf(bindUser(db(), 'ops', other.email, { issuer: ISSUER, subject }))).toBe(
      `${other.email} ${taken}`,
    );
    expect(await wordOf(bindUser(db(), 'ops', one.email, { issuer: ISSUER, subject: 'x' }))).toBe(
      `${one.email} ${taken}`,
    );
    expect(await wordOf(bindUser(db(), 'ops', 'x@x.example', { issuer: ISSUER, subject: 'x' }))).toBe('There is no user x@x.example. See banking user list.'); // prettier-ignore
  });
});

describe('Given an app and a workspace', () => {
  it('When they are renamed, Then the lists show it, and the trail says who did it', async () => {
    await renameApp(db(), 'Rosa', 'Shop', 'Shop of us');
    expect(await lastChange()).toMatchObject({ by: 'Rosa', what: 'update app', record: { name: 'Shop of us' } });
    await renameWorkspace(db(), 'Rosa', workspaceId, 'First');
    expect(await lastChange()).toMatchObject({ by: 'Rosa', what: 'update workspace', record: { name: 'First' } });

    expect((await allApps(db())).map(({ name }) => name)).toEqual([APP, 'Shop of us']);
    expect((await allWorkspaces(db())).map(({ name }) => name)).toEqual(['First', 'Two']);
  });

  it('When the name is taken, or there is no such app or workspace, Then the message says so', async () => {
    expect(await wordOf(renameApp(db(), 'ops', 'Shop of us', APP))).toBe('There is an app named Bank already.');
    expect(await wordOf(renameApp(db(), 'ops', 'Nowhere', 'X'))).toBe('There is no app named Nowhere. See banking app list.'); // prettier-ignore
    expect(await wordOf(renameWorkspace(db(), 'ops', workspaceId, 'Two'))).toBe(`The app of workspace ${workspaceId} has a workspace named Two already.`); // prettier-ignore
    expect(await wordOf(renameWorkspace(db(), 'ops', 999, 'X'))).toBe('There is no workspace 999. See banking workspace list.'); // prettier-ignore
  });
});
