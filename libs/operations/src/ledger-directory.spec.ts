import { LedgerDirectory } from './ledger-directory.js';
import { addApp, addGrant, addUser, addWorkspace, bindUser, removeUser } from './provisioning/index.js';
import { emptyWorld, type World } from './testing/worlds.js';

const ISSUER = 'https://id.example';

let world: World;
let directory: LedgerDirectory;
let appId: number;
let workspaceId: number;
let users = 0;

beforeAll(async () => {
  world = await emptyWorld();
  directory = new LedgerDirectory(world.database);
  appId = await addApp(world.provisioning, 'spec', 'Bank');
  workspaceId = await addWorkspace(world.provisioning, 'spec', { app: 'Bank', name: 'One' });
});
afterAll(() => world.close());

/** A user of the bank with a role in its workspace. */
async function given(status = 'completed'): Promise<{ email: string; id: number }> {
  const email = `user${++users}@bank.example`;
  const id = await addUser(world.provisioning, 'spec', { email, app: 'Bank', status });
  await addGrant(world.provisioning, 'spec', { workspaceId, email, role: 'member' });
  return { email, id };
}
const known = (subject: string, email?: string, issuer = ISSUER) => directory.userOf({ issuer, subject, email });

describe('Given a user nobody has signed in as', () => {
  it('When a subject comes with their verified e-mail, in any case, Then it is bound and known from then on', async () => {
    const { email, id } = await given();

    const first = await known(`s-${id}`, email.toUpperCase());

    expect(first).toEqual({ id, grants: [{ workspaceId, role: 'member', appId }] });
    expect(await known(`s-${id}`)).toEqual(first);
    expect(await known(`s-${id}`, 'another@bank.example')).toEqual(first);
  });

  it('When a subject comes without a verified e-mail, Then nobody is known', async () => {
    expect(await known('s-nobody')).toBeUndefined();
  });

  it('When a subject comes with an e-mail we do not know, Then nobody is known and nothing is bound', async () => {
    expect(await known('s-other', 'other@elsewhere.example')).toBeUndefined();
    expect(await known('s-other')).toBeUndefined();
  });

  it.each([
    ['a dotted capital I (U+0130)', 'user@\u0130nk.example'],
    ['a Kelvin sign (U+212A)', '\u212Aim@bank.example'],
  ])(
    'When the e-mail of a stranger folds to theirs by %s, Then nobody is known and nothing is bound',
    async (_, lookAlike) => {
      for (const email of ['user@ink.example', 'kim@bank.example']) {
        await addUser(world.provisioning, 'spec', { email, app: 'Bank' }).catch(() => undefined);
      }

      expect(await known(`stranger ${lookAlike}`, lookAlike)).toBeUndefined();
      expect(await known(`stranger ${lookAlike}`)).toBeUndefined();
    },
  );

  it('When two subjects bind at once, Then exactly one is known, and stays so', async () => {
    const { email } = await given();
    const subjects = Array.from({ length: 8 }, (_, index) => `race-${users}-${index}`);

    const found = await Promise.all(subjects.map((subject) => known(subject, email)));
    const again: unknown[] = [];
    for (const subject of subjects) again.push(await known(subject));

    expect(found.filter(Boolean)).toHaveLength(1);
    expect(again).toEqual(found);
  });

  it('When one subject arrives many times at once, Then every time it is the user', async () => {
    const { email, id } = await given();

    const found = await Promise.all(Array.from({ length: 8 }, () => known(`once-${id}`, email)));

    expect(new Set(found.map((user) => user?.id))).toEqual(new Set([id]));
  });
});

describe('Given a user whose subject is bound', () => {
  it('When a second subject of the same issuer comes with their e-mail, Then it is refused', async () => {
    const { email, id } = await given();
    await known(`s-${id}`, email);

    expect(await known(`thief-${id}`, email)).toBeUndefined();
    expect((await known(`s-${id}`))?.id).toBe(id);
  });

  it('When their subject is also another issuer’s, Then that says nothing about them', async () => {
    const { email, id } = await given();
    await known(`s-${id}`, email);

    expect(await known(`s-${id}`, undefined, 'https://other.example')).toBeUndefined();
  });

  it('When they are removed, Then nobody is known by it', async () => {
    const { email, id } = await given();
    await known(`s-${id}`, email);

    await removeUser(world.provisioning, 'spec', email);

    expect(await known(`s-${id}`, email)).toBeUndefined();
  });
});

describe('Given a user whose status is not completed', () => {
  it.each(['pending', 'suspended', 'blocked', 'Completed', ''])(
    'When the status is %j, Then they are recognised and have no role',
    async (status) => {
      const { email, id } = await given(status);

      expect(await known(`s-${id}`, email)).toEqual({ id, grants: [] });
    },
  );
});

describe('Given a user who was added with their subject', () => {
  it('When it signs in without an e-mail, Then it is known', async () => {
    const identity = { issuer: ISSUER, subject: 'robot' };
    const id = await addUser(world.provisioning, 'spec', { email: 'robot@bank.example', app: 'Bank', identity });

    expect(await known('robot')).toEqual({ id, grants: [] });
  });
});

describe('Given a directory that binds no subject by e-mail', () => {
  const strict = () => new LedgerDirectory(world.database, { bindsByEmail: false });

  it('When a subject comes with the verified e-mail of a user, Then nobody is known and nothing is bound', async () => {
    const { email, id } = await given();

    expect(await strict().userOf({ issuer: ISSUER, subject: `s-${id}`, email })).toBeUndefined();
    expect(await known(`s-${id}`)).toBeUndefined();
  });

  it('When the subject was provisioned, Then it is known', async () => {
    const { email, id } = await given();
    await bindUser(world.provisioning, 'spec', email, { issuer: ISSUER, subject: `p-${id}` });

    expect((await strict().userOf({ issuer: ISSUER, subject: `p-${id}`, email }))?.id).toBe(id);
  });
});
