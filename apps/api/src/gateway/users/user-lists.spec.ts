import { ServiceError } from '@banking/client';
import type { App, User, UserId } from '@banking/domain';
import { gatewayOf, scriptedUpstream } from '../testing/gateway.js';
import { UserListsError } from '../upstream-failure.js';
import { type AppUsers, readUserLists, UserLists, visibleUsers } from './user-lists.js';

describe('user lists', () => {
  /** User lists with a clock and reads that the spec controls. */
  function readings() {
    const begun: { isUrgent: boolean; give: (lists: readonly AppUsers[]) => void; fail: (error: Error) => void }[] = [];
    let nowMs = 0;
    let isUrgent = false;
    const lists = new UserLists(
      () => new Promise((give, fail) => begun.push({ isUrgent, give, fail })),
      (read) => {
        isUrgent = true;
        const reading = read();
        isUrgent = false;
        return reading;
      },
      () => nowMs,
    );
    return {
      lists,
      begun,
      at: (ms: number) => (nowMs = ms),
      /** Finds users, and completes the read that this starts. */
      async read(answer: readonly AppUsers[] | Error, isFound?: () => boolean) {
        const before = begun.length;
        const asked = lists.find(isFound).catch((error: Error) => error);
        if (answer instanceof Error) begun[before]?.fail(answer);
        else begun[before]?.give(answer);
        expect(begun).toHaveLength(before + 1);
        const found = await asked;
        await settled();
        return found;
      },
    };
  }

  const limited = (retryAfterSeconds?: number) =>
    new UserListsError('no', { cause: new ServiceError('no', { status: 429, retryAfterSeconds, body: '' }) });
  const apps = (count: number) =>
    Array.from({ length: count }, () => ({ users: [] })) as unknown as readonly AppUsers[];

  const FIRST: readonly AppUsers[] = [];
  const SECOND: readonly AppUsers[] = [];
  const never = () => false;

  /** Waits until all settled promises have taken effect. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  describe('UserLists', () => {
    it('reads the lists once for concurrent callers', async () => {
      const { lists, begun } = readings();
      const asked = [lists.find(), lists.find(), lists.find(never)];
      begun[0]?.give(FIRST);

      for (const answer of await Promise.all(asked)) expect(answer).toBe(FIRST);
      expect(begun).toHaveLength(1);
    });

    it.each([
      [4_999, 1],
      [5_000, 2],
    ])('begins within %i ms of the first read %i reads', async (ms, times) => {
      const { lists, begun, at } = readings();
      const first = lists.find();
      begun[0]?.give(FIRST);
      await first;
      at(ms);
      void lists.find();
      await settled();

      expect(begun).toHaveLength(times);
    });

    it('reads again for a missing user, at most once a second for all missing users', async () => {
      const { lists, begun, at } = readings();
      const first = lists.find();
      begun[0]?.give(FIRST);
      await first;

      at(999);
      expect(await lists.find(never)).toBe(FIRST);
      expect(begun).toHaveLength(1);

      at(1_000);
      const missing = Array.from({ length: 50 }, () => lists.find(never));
      await settled();
      begun[1]?.give(SECOND);
      for (const answer of await Promise.all(missing)) expect(answer).toBe(SECOND);
      expect(begun).toHaveLength(2);

      at(1_500);
      expect(await lists.find(never)).toBe(SECOND);
      expect(begun).toHaveLength(2);
    });

    it('fails for all callers for a second after a failed read, and then reads again', async () => {
      const { lists, begun, at } = readings();
      const first = lists.find();
      begun[0]?.fail(new Error('away'));
      await expect(first).rejects.toThrow('away');

      at(999);
      await expect(lists.find()).rejects.toThrow('away');
      expect(begun).toHaveLength(1);

      at(1_000);
      const second = lists.find();
      begun[1]?.give(SECOND);
      expect(await second).toBe(SECOND);
    });

    it('serves known users from fresh lists although a read for a missing user has failed', async () => {
      const { lists, begun, at } = readings();
      const first = lists.find();
      begun[0]?.give(FIRST);
      await first;
      at(1_000);
      const missing = lists.find(never);
      await settled();
      begun[1]?.fail(new Error('away'));

      await expect(missing).rejects.toThrow('away');
      await expect(lists.find(never)).rejects.toThrow('away');
      expect(await lists.find()).toBe(FIRST);
      at(5_000);
      const late = lists.find();
      begun[2]?.fail(new Error('still away'));
      await expect(late).rejects.toThrow('still away');
    });

    it('shares a read that takes longer than a second', async () => {
      const { lists, begun, at } = readings();
      const first = lists.find();
      at(3_000);
      const second = lists.find();
      begun[0]?.give(FIRST);

      expect([await first, await second]).toEqual([FIRST, FIRST]);
      expect(begun).toHaveLength(1);
    });
  });

  describe('UserLists while the upstream responds 429', () => {
    it('serves known users until the lists are a minute old, and refuses the others', async () => {
      const { lists, read, at } = readings();
      await read(FIRST);
      for (const ms of [5_000, 20_000, 40_000, 59_999]) {
        at(ms);
        expect(await read(limited())).toBe(FIRST);
        expect(await lists.find()).toBe(FIRST);
        await expect(lists.find(never)).rejects.toThrow(UserListsError);
      }
      at(60_999);
      expect(await read(limited())).toBeInstanceOf(UserListsError);
      await expect(lists.find()).rejects.toThrow(UserListsError);
      at(62_000);
      expect(await read(SECOND)).toBe(SECOND);
    });

    it('does not delay known users by a read', async () => {
      const { lists, begun, read, at } = readings();
      await read(FIRST);
      at(5_000);
      await read(limited());
      at(6_000);

      expect(await lists.find()).toBe(FIRST);
      expect(begun).toHaveLength(3);
    });

    it('serves no user from old lists if the read fails for another reason', async () => {
      const { read, at } = readings();
      await read(FIRST);
      at(5_000);
      expect(await read(new Error('away'))).toMatchObject({ message: 'away' });
      at(6_000);
      expect(await read(limited())).toBe(FIRST);
      at(7_000);
      expect(await read(new Error('away'))).toBe(FIRST);
      at(8_000);
      expect(await read(new Error('away'))).toMatchObject({ message: 'away' });
    });

    it.each([
      [undefined, 1_000],
      [0, 1_000],
      [7, 7_000],
      [3_600, 60_000],
    ])('reads again after a Retry-After of %p seconds: after %i ms', async (retryAfter, ms) => {
      const { lists, begun, read, at } = readings();
      await read(limited(retryAfter));
      at(ms - 1);
      await expect(lists.find()).rejects.toThrow(UserListsError);
      expect(begun).toHaveLength(1);
      at(ms);
      expect(await read(SECOND)).toBe(SECOND);
    });

    it('reads with precedence once the lists are thirty seconds old, and only while it is limited', async () => {
      const { begun, read, at } = readings();
      await read(FIRST);
      for (const ms of [29_000, 30_000, 40_000]) {
        at(ms);
        await read(limited());
      }
      at(41_000);
      await read(SECOND);
      at(90_000);
      await read(FIRST);

      expect(begun.map(({ isUrgent }) => isUrgent)).toEqual([false, false, true, true, true, false]);
    });
  });

  describe('UserLists of many apps', () => {
    it.each([
      [1, 1_000],
      [19, 1_000],
      [99, 5_000],
      [999, 50_000],
    ])('reads %i apps again after %i ms at the earliest, which is 20 requests a second', async (count, ms) => {
      const { lists, begun, read, at } = readings();
      await read(apps(count));
      at(ms - 1);
      for (let time = 0; time < 100; time += 1) expect(await lists.find(never)).toHaveLength(count);
      expect(begun).toHaveLength(1);
      at(ms);
      expect(await read(SECOND, never)).toBe(SECOND);
    });
  });
});

describe('readUserLists', () => {
  /** An upstream with the given number of apps. The spec triggers the responses with user lists. */
  function upstreamWith(count: number) {
    const apps = Array.from({ length: count }, (_, index) => ({ id: index + 1, name: 'A' }) as App);
    const asked: { readonly appId: number; give(users: readonly User[]): void; fail(error: Error): void }[] = [];
    const upstream = {
      listApps: () => Promise.resolve(apps),
      listAppUsers: (_: object, { appId }: { readonly appId: number }) =>
        new Promise<readonly User[]>((give, fail) => asked.push({ appId, give, fail })),
    };
    return { lists: readUserLists(upstream as never), asked };
  }

  const settled = () => new Promise((resolve) => setImmediate(resolve));

  it('reads six lists at once and returns them in the order of the apps', async () => {
    const { lists, asked } = upstreamWith(20);
    await settled();
    expect(asked).toHaveLength(6);
    for (let answered = 0; answered < 20; answered += 1) {
      const at = answered % 2 === 0 ? asked.length - 1 : 0;
      asked.splice(at, 1)[0]?.give([]);
      await settled();
    }

    expect((await lists).map(({ app }) => app.id)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it('reads no further list after one has failed', async () => {
    const { lists, asked } = upstreamWith(20);
    const failed = expect(lists).rejects.toThrow(UserListsError);
    await settled();
    asked[3]?.fail(new Error('429'));
    await failed;
    for (const { give } of asked) give([]);
    await settled();

    expect(asked).toHaveLength(6);
  });

  it('refuses more than 1,000 apps without reading a list', async () => {
    const { lists, asked } = upstreamWith(1_001);

    await expect(lists).rejects.toThrow(UserListsError);
    expect(asked).toEqual([]);
  });
});

describe('visibleUsers', () => {
  const role = (id: number, word: string, workspace: string) => ({
    id,
    role: word,
    edges: { workspace: { id: workspace === 'One' ? 1 : 2, name: workspace } },
  });
  const user = (id: number, name: string, roles: object[], status = 'completed') =>
    ({ id, email: `${name}@bank.example`, status, edges: { roles } }) as unknown as User;

  /** The users of the spec of our own books, because both implement the same rule. */
  const USERS = [
    user(1, 'admin', [role(1, 'admin', 'One'), role(7, 'admin', 'Two')]),
    user(2, 'member', [role(2, 'member', 'One')]),
    user(3, 'mate', [role(3, 'member', 'One'), role(4, 'member', 'Two')]),
    user(4, 'stranger', [role(5, 'member', 'Two')]),
    user(5, 'loner', []),
    user(6, 'pending', [role(6, 'admin', 'One')], 'pending'),
    user(10, 'head', [role(8, 'admin', 'Two')]),
  ];

  const OF_TWO = {
    stranger: ['member of Two'],
    admin: ['admin of Two'],
    mate: ['member of Two'],
    head: ['admin of Two'],
  };

  /** The visible users, with their workspaces and roles. */
  const seenBy = (id: number, users: readonly User[] = USERS) =>
    Object.fromEntries(visibleUsers(users, id as UserId).map(inShort));
  const inShort = ({ email, edges }: User) => [
    email.split('@')[0],
    edges.roles?.map(({ role: word, edges: { workspace } }) => `${word} of ${workspace.name}`),
  ];

  it('shows an admin of every workspace all users with all roles', () => {
    expect(seenBy(1)).toEqual({
      admin: ['admin of One', 'admin of Two'],
      head: ['admin of Two'],
      member: ['member of One'],
      mate: ['member of One', 'member of Two'],
      stranger: ['member of Two'],
      loner: [],
      pending: [],
    });
  });

  it('shows a member the users of shared workspaces, with the shared roles only', () => {
    expect(seenBy(2)).toEqual({ admin: ['admin of One'], member: ['member of One'], mate: ['member of One'] });
    expect(seenBy(4)).toEqual(OF_TWO);
  });

  it('shows an admin of one workspace the users of that workspace, with the roles in it only', () => {
    expect(seenBy(10)).toEqual(OF_TWO);
  });

  it('shows a user without a role, or before sign-up is completed, only themselves', () => {
    expect(seenBy(5)).toEqual({ loner: [] });
    expect(seenBy(6)).toEqual({ pending: [] });
  });

  it('shows nothing to a user who is not listed', () => {
    expect(seenBy(7)).toEqual({});
  });

  it('gives no view for an unknown role, and shows its name to others', () => {
    const users = [...USERS, user(7, 'auditor', [role(7, 'auditor', 'Two')])];

    expect(seenBy(7, users)).toEqual({ auditor: [] });
    expect(seenBy(1, users)).toMatchObject({ auditor: ['auditor of Two'] });
  });

  it('treats missing roles as no role', () => {
    const users = [...USERS, { id: 8, email: 'bare@bank.example', edges: {} } as User];

    expect(seenBy(1, users)).toMatchObject({ bare: [] });
    expect(seenBy(8, users)).toEqual({ bare: [] });
  });

  it('passes on unknown fields', () => {
    const users = [{ ...USERS[1], edges: { ...USERS[1]?.edges, badges: 3 }, level: 'gold' } as User];

    expect(visibleUsers(users, 2 as UserId)).toMatchObject([{ level: 'gold', edges: { badges: 3 } }]);
  });

  it('shows a member only the published fields of another user', () => {
    const more = { phone: '+49 30 1234', edges: { roles: USERS[2]?.edges?.roles, sessions: ['token'] } };
    const users = [USERS[1]!, { ...USERS[2], ...more } as User];

    expect(JSON.stringify(visibleUsers(users, 2 as UserId))).not.toMatch(/phone|sessions/);
    expect(seenBy(2, users)).toEqual({ member: ['member of One'], mate: ['member of One'] });
    expect(visibleUsers([...users, USERS[0]!], 1 as UserId)[1]).toMatchObject({ phone: '+49 30 1234' });
  });

  it('counts the roles of a user without a status', () => {
    const { status: _, ...admin } = USERS[0]!;

    expect(seenBy(1, [admin, ...USERS.slice(1)])).toEqual(seenBy(1));
  });

  it.each(['blocked', 'deleted', 'suspended', 'Completed', ''])(
    'counts no roles of a user with the status %j',
    (status) => {
      const users = [...USERS.slice(0, 3), user(9, 'odd', [role(9, 'admin', 'One')], status)];

      expect(seenBy(9, users)).toEqual({ odd: [] });
      expect(seenBy(2, users)).not.toHaveProperty('odd');
    },
  );
});

describe('a gateway whose upstream limits reads of the user lists', () => {
  const ADA = 'ada@bank.example';
  const LIMITED = { status: 429, body: { errorCode: 'rate_limited', message: 'No.' }, headers: { 'retry-after': '1' } };

  let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
  let gateway: Awaited<ReturnType<typeof gatewayOf>>;
  beforeAll(async () => {
    upstream = await scriptedUpstream();
  });
  afterAll(() => upstream.close());
  /** The spec sets the clocks; timers run. */
  beforeEach(async () => {
    jest.useFakeTimers({
      now: Date.now(),
      doNotFake: [
        'nextTick',
        'setImmediate',
        'clearImmediate',
        'setTimeout',
        'clearTimeout',
        'setInterval',
        'clearInterval',
        'queueMicrotask',
        'hrtime',
      ],
    });
    upstream.reset();
    upstream.says('GET /accounts', { status: 200, body: [] });
    gateway = await gatewayOf(upstream.url);
    expect((await get('/accounts')).status).toBe(200);
    upstream.says('GET /apps', LIMITED);
    upstream.says('GET /apps/1/users', LIMITED);
  });
  afterEach(async () => {
    await gateway.close();
    jest.useRealTimers();
  });

  const get = (path: string, email = ADA) => gateway.send(`GET ${path}`, {}, email);
  const inShort = async (response: Response) => [
    response.status,
    response.headers.get('retry-after'),
    ((await response.json()) as { reason?: string }).reason,
  ];

  it('is ready and serves known users; other users get a Retry-After', async () => {
    for (const ms of [6_000, 8_000, 8_000]) {
      jest.advanceTimersByTime(ms);
      for (const path of ['/accounts', '/apps', '/apps/1/users']) expect((await get(path)).status).toBe(200);
      expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200);
      expect(await inShort(await get('/apps', 'eve@bank.example'))).toEqual([503, '1', 'unavailable']);
    }
  });

  it('refuses all callers with a Retry-After once the lists are a minute old, until they are read again', async () => {
    jest.advanceTimersByTime(60_000);
    for (const path of ['/accounts', '/apps', '/apps/1/users']) {
      expect(await inShort(await get(path))).toEqual([503, '1', 'unavailable']);
    }
    expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(503);

    upstream.reset();
    upstream.says('GET /accounts', { status: 200, body: [] });
    jest.advanceTimersByTime(1_000);
    expect((await get('/accounts')).status).toBe(200);
    expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200);
  });

  it('reads lists that are thirty seconds old before it sends requests of callers', async () => {
    jest.advanceTimersByTime(6_000);
    await get('/accounts');
    upstream.reset();
    upstream.says('GET /accounts', { status: 200, body: [] });
    jest.advanceTimersByTime(30_000);

    const { status } = await get('/accounts');

    const paths = upstream.received.map(({ path }) => path);
    const untilRead = paths.slice(0, paths.indexOf('/apps/1/users') + 1);
    expect(untilRead).toEqual(['/apps', '/apps/1/users']);
    // The read may take longer than a request waits.
    expect([200, 503]).toContain(status);
    expect(paths.slice(2)).toEqual(status === 200 ? ['/accounts'] : []);
    expect((await get('/accounts')).status).toBe(200);
  });
});
