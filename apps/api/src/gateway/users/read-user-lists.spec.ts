import type { App, User } from '@banking/domain';
import { readUserLists } from './read-user-lists.js';
import { UserListsError } from '../upstream-failure.js';

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

describe('readUserLists', () => {
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
