import type { Subject, WorkspaceId } from '@banking/domain';
import { type AppUsers, UserLists } from './user-lists.js';
import { UpstreamDirectory } from './upstream-directory.js';

const ADA = 'ada@bank.example';

const listed = (
  id: number,
  email: string,
  roles: readonly (readonly [role: string, workspaceId: number])[] = [],
  status = 'completed',
) => ({
  id,
  email,
  status,
  edges: {
    roles: roles.map(([role, workspaceId], index) => ({
      id: index + 1,
      role,
      edges: { workspace: { id: workspaceId, name: 'W' } },
    })),
  },
});

const withUsers = (id: number, users: readonly object[]) =>
  ({ app: { id, name: `App ${id}` }, users }) as unknown as AppUsers;
const appOf = (id: number, ...users: object[]) => withUsers(id, users);

/** A directory over lists that the spec changes, and its warnings. */
function directoryOver(...apps: AppUsers[]) {
  const world = { apps, reads: 0, nowMs: 0 };
  const warnings: (readonly number[])[] = [];
  const lists = new UserLists(
    async () => {
      world.reads += 1;
      return [...world.apps];
    },
    (read) => read(),
    () => world.nowMs,
  );
  const directory = new UpstreamDirectory(lists, ({ userIds }) => warnings.push(userIds));
  const userOf = (email: string | undefined, wanted?: number) =>
    directory.userOf({ issuer: 'i', subject: 's', email } as Subject, wanted as WorkspaceId | undefined);
  return { world, warnings, userOf };
}

describe('UpstreamDirectory', () => {
  it('finds a user by verified e-mail in any case, with the roles of all apps', async () => {
    const { userOf } = directoryOver(
      appOf(
        1,
        listed(1, 'Ada@Bank.Example', [
          ['admin', 1],
          ['member', 2],
        ]),
        listed(2, 'bob@bank.example'),
      ),
      appOf(2, listed(1, ADA, [['member', 3]])),
    );

    expect(await userOf('ADA@bank.example')).toEqual({
      id: 1,
      grants: [
        { workspaceId: 1, roles: ['admin', 'member'], appId: 1 },
        { workspaceId: 2, roles: ['member'], appId: 1 },
        { workspaceId: 3, roles: ['member'], appId: 2 },
      ],
    });
    expect(await userOf('bob@bank.example')).toEqual({ id: 2, grants: [] });
  });

  it('finds no user and reads nothing without a usable verified e-mail', async () => {
    const { userOf, world } = directoryOver(appOf(1, listed(1, 'ſ@bank.example'), listed(2, '')));

    expect(await userOf(undefined)).toBeUndefined();
    expect(await userOf('ſ@bank.example')).toBeUndefined();
    expect(world.reads).toBe(0);
  });

  it('grants a blocked user nothing', async () => {
    const { userOf } = directoryOver(appOf(1, listed(1, ADA, [['admin', 1]], 'blocked')));

    expect(await userOf(ADA)).toEqual({ id: 1, grants: [] });
  });

  it.each<[string, readonly (readonly [string, number])[]]>([
    [
      'a user has two roles in a workspace',
      [
        ['member', 1],
        ['admin', 1],
      ],
    ],
    ['a user is a viewer', [['viewer', 9]]],
    ['a user is an approver', [['approver', 9]]],
  ])('grants an administrator no right to pay if the upstream has separate roles: %s', async (_, roles) => {
    const { userOf } = directoryOver(
      appOf(1, listed(1, ADA, [['admin', 1]])),
      appOf(2, listed(2, 'bob@x.example', roles)),
    );

    expect((await userOf(ADA))?.grants).toEqual([{ workspaceId: 1, roles: ['admin'], appId: 1 }]);
    expect((await userOf('bob@x.example'))?.grants.map((grant) => grant.roles)).toEqual([roles.map(([role]) => role)]);
  });

  it('grants one role if the lists name it twice', async () => {
    const twice = [
      listed(1, ADA, [['member', 1]]),
      listed(1, ADA, [['member', 1]]),
      listed(2, 'bob@x.example', [['admin', 1]]),
    ];
    const { userOf } = directoryOver(appOf(1, ...twice));

    expect((await userOf(ADA))?.grants).toEqual([{ workspaceId: 1, roles: ['member'], appId: 1 }]);
    expect((await userOf('bob@x.example'))?.grants).toEqual([{ workspaceId: 1, roles: ['admin', 'member'], appId: 1 }]);
  });

  it('grants the listed roles if the status is missing', async () => {
    const { status: _, ...ada } = listed(1, ADA, [['admin', 1]]);
    const { userOf } = directoryOver(appOf(1, ada));

    expect((await userOf(ADA))?.grants).toEqual([{ workspaceId: 1, roles: ['admin', 'member'], appId: 1 }]);
  });

  it('grants nothing before sign-up is completed or for an unknown role', async () => {
    const { userOf } = directoryOver(
      appOf(
        1,
        listed(1, ADA, [['admin', 1]], 'pending'),
        listed(2, 'bob@bank.example', [
          ['owner', 1],
          ['Admin', 1],
          ['member', 2],
        ]),
      ),
    );

    expect(await userOf(ADA)).toEqual({ id: 1, grants: [] });
    expect(await userOf('bob@bank.example')).toEqual({
      id: 2,
      grants: [{ workspaceId: 2, roles: ['member'], appId: 1 }],
    });
  });

  it.each([
    ['one e-mail has two ids in an app', [appOf(1, listed(1, ADA), listed(9, 'ADA@bank.example'))], [1, 9]],
    ['one e-mail has two ids in two apps', [appOf(1, listed(1, ADA)), appOf(2, listed(9, ADA))], [1, 9]],
    ['one id has two e-mails', [appOf(1, listed(1, ADA)), appOf(2, listed(1, 'eve@bank.example'))], [1]],
  ])('grants no access and logs the ids once if %s', async (_, apps, ids) => {
    const { userOf, warnings, world } = directoryOver(...apps, appOf(3, listed(5, 'bob@bank.example')));

    expect(await userOf(ADA)).toBeUndefined();
    expect(await userOf('eve@bank.example')).toBeUndefined();
    expect(await userOf('bob@bank.example')).toEqual({ id: 5, grants: [] });
    world.nowMs = 6_000;
    await userOf(ADA);
    expect(world.reads).toBe(2);
    expect(warnings).toEqual([ids]);
  });

  it('finds a new user or role a second after the last read', async () => {
    const { userOf, world } = directoryOver(appOf(1));
    expect(await userOf(ADA)).toBeUndefined();

    world.apps = [appOf(1, listed(1, ADA, [['member', 1]]))];
    expect(await userOf(ADA)).toBeUndefined();
    world.nowMs = 1_000;
    expect(await userOf(ADA)).toMatchObject({ id: 1 });

    world.apps = [
      appOf(
        1,
        listed(1, ADA, [
          ['member', 1],
          ['member', 2],
        ]),
      ),
    ];
    world.nowMs = 2_000;
    expect((await userOf(ADA, 1))?.grants).toHaveLength(1);
    expect((await userOf(ADA, 2))?.grants).toHaveLength(2);
    expect(world.reads).toBe(3);
  });

  it('reads the lists once a second for many unknown users', async () => {
    const { userOf, world } = directoryOver(appOf(1, listed(1, ADA)));
    await userOf(ADA);
    for (let ms = 1_000; ms < 4_000; ms += 10) {
      world.nowMs = ms;
      await Promise.all([userOf('mallory@bank.example'), userOf(`guest${ms}@bank.example`), userOf(ADA, 7)]);
    }

    expect(world.reads).toBe(4);
  });

  it('identifies each of 100,000 users', async () => {
    const emailOf = (id: number) => `u${id}@bank.example`;
    const crowd = Array.from({ length: 100_000 }, (_, at) => ({ id: at + 1, email: emailOf(at + 1), edges: {} }));
    const { userOf } = directoryOver(withUsers(1, [...crowd, listed(100_001, ADA, [['member', 1]])]));

    for (const id of [1, 50_000, 100_000]) expect(await userOf(emailOf(id))).toEqual({ id, grants: [] });
    expect((await userOf(ADA))?.grants).toHaveLength(1);
  });
});
