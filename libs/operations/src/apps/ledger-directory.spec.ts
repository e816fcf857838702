import { LedgerDirectory } from './directory.js';
import { addApp, addGrants, addUser, addWorkspace, bindUser, removeUser } from '../provisioning/index.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';

const ISSUER = 'https://id.example';
let world: TestDatabase;
let directory: LedgerDirectory;
let appId: number;
let workspaceId: number;
let users = 0;

beforeAll(async () => {
  world = await emptyDatabase();
  directory = new LedgerDirectory(world.database);
  appId = await addApp(world.provisioning, 'spec', 'Bank');
  workspaceId = await addWorkspace(world.provisioning, 'spec', { app: 'Bank', name: 'One' });
});
afterAll(() => world.close());

/** A user of the bank with a role in its workspace. */
async function given(status = 'completed'): Promise<{ email: string; id: number }> {
  const email = `user${++users}@bank.example`;
  const id = await addUser(world.provisioning, 'spec', { email, app: 'Bank', status });
  await addGrants(world.provisioning, 'spec', { workspaceId, email, roles: ['member'] });
  return { email, id };
}
const known = (subject: string, email?: string, issuer = ISSUER) => directory.userOf({ issuer, subject, email });

describe('a user who has not signed in', () => {
  it('is bound to the first subject with the verified e-mail, in any case', async () => {
    const { email, id } = await given();

    const first = await known(`s-${id}`, email.toUpperCase());

    expect(first).toEqual({ id, grants: [{ workspaceId, roles: ['member'], appId }] });
    expect(await known(`s-${id}`)).toEqual(first);
    expect(await known(`s-${id}`, 'another@bank.example')).toEqual(first);
  });

  it('is unknown to a subject without a verified e-mail', async () => {
    expect(await known('s-without-email')).toBeUndefined();
  });

  it('is not bound to a subject with another e-mail', async () => {
    expect(await known('s-other', 'other@elsewhere.example')).toBeUndefined();
    expect(await known('s-other')).toBeUndefined();
  });

  it.each([
    ['a dotted capital I (U+0130)', 'user@\u0130nk.example'],
    ['a Kelvin sign (U+212A)', '\u212Aim@bank.example'],
  ])('is not bound to an e-mail that folds to the same by %s', async (_, lookAlike) => {
    for (const email of ['user@ink.example', 'kim@bank.example']) {
      await addUser(world.provisioning, 'spec', { email, app: 'Bank' }).catch(() => undefined);
    }

    expect(await known(`stranger ${lookAlike}`, lookAlike)).toBeUndefined();
    expect(await known(`stranger ${lookAlike}`)).toBeUndefined();
  });

  it('is bound to one of two concurrent subjects', async () => {
    const { email } = await given();
    const subjects = Array.from({ length: 8 }, (_, index) => `race-${users}-${index}`);

    const found = await Promise.all(subjects.map((subject) => known(subject, email)));
    const again: unknown[] = [];
    for (const subject of subjects) again.push(await known(subject));

    expect(found.filter(Boolean)).toHaveLength(1);
    expect(again).toEqual(found);
  });

  it('is found by each of many concurrent requests of one subject', async () => {
    const { email, id } = await given();

    const found = await Promise.all(Array.from({ length: 8 }, () => known(`once-${id}`, email)));

    expect(new Set(found.map((user) => user?.id))).toEqual(new Set([id]));
  });
});

describe('a user with a bound subject', () => {
  it('is unknown to a second subject of the same issuer', async () => {
    const { email, id } = await given();
    await known(`s-${id}`, email);

    expect(await known(`thief-${id}`, email)).toBeUndefined();
    expect((await known(`s-${id}`))?.id).toBe(id);
  });

  it('is unknown to the same subject of another issuer', async () => {
    const { email, id } = await given();
    await known(`s-${id}`, email);

    expect(await known(`s-${id}`, undefined, 'https://other.example')).toBeUndefined();
  });

  it('is unknown after removal', async () => {
    const { email, id } = await given();
    await known(`s-${id}`, email);

    await removeUser(world.provisioning, 'spec', email);

    expect(await known(`s-${id}`, email)).toBeUndefined();
  });
});

describe('a user whose status is not completed', () => {
  it.each(['pending', 'suspended', 'blocked', 'Completed', ''])(
    'is found and has no role if the status is %j',
    async (status) => {
      const { email, id } = await given(status);

      expect(await known(`s-${id}`, email)).toEqual({ id, grants: [] });
    },
  );
});

describe('a user who was added with a subject', () => {
  it('is found without an e-mail', async () => {
    const identity = { issuer: ISSUER, subject: 'robot' };
    const id = await addUser(world.provisioning, 'spec', { email: 'robot@bank.example', app: 'Bank', identity });

    expect(await known('robot')).toEqual({ id, grants: [] });
  });
});

describe('a directory that binds no subject by e-mail', () => {
  const strict = () => new LedgerDirectory(world.database, { bindsByEmail: false });

  it('finds nothing for an unbound subject with a verified e-mail', async () => {
    const { email, id } = await given();

    expect(await strict().userOf({ issuer: ISSUER, subject: `s-${id}`, email })).toBeUndefined();
    expect(await known(`s-${id}`)).toBeUndefined();
  });

  it('finds a provisioned subject', async () => {
    const { email, id } = await given();
    await bindUser(world.provisioning, 'spec', email, { issuer: ISSUER, subject: `p-${id}` });

    expect((await strict().userOf({ issuer: ISSUER, subject: `p-${id}`, email }))?.id).toBe(id);
  });
});
