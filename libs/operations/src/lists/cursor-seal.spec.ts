import * as fc from 'fast-check';
import { emptyWorld, wordOf, type World } from '../testing/worlds.js';
import { CursorSeal, type CursorScope } from './cursor-seal.js';

let world: World;
let seal: CursorSeal;

beforeAll(async () => {
  world = await emptyWorld();
  seal = new CursorSeal(world.database);
});
afterAll(() => world.close());

const position = { at: '2026-11-21T09:30:00.123456Z', id: 42 };
const scope: CursorScope = { list: 'list_things', workspaceId: 7, filters: { accountId: 3, type: 'payout' } };

describe('Given a cursor', () => {
  it('When it is opened for what it was written for, Then it says where the page ended, in any process', async () => {
    const cursor = await seal.write(scope, position);

    expect(await seal.open(scope, cursor)).toEqual(position);
    expect(await new CursorSeal(world.database).open({ ...scope, filters: { type: 'payout', accountId: 3 } }, cursor)).toEqual(position); // prettier-ignore
  });

  it.each<[string, Partial<CursorScope>]>([
    ['another list', { list: 'list_others' }],
    ['another workspace', { workspaceId: 8 }],
    ['another value of a filter', { filters: { accountId: 4, type: 'payout' } }],
    ['a filter less', { filters: { accountId: 3 } }],
    ['a filter more', { filters: { accountId: 3, type: 'payout', direction: 'debit' } }],
    ['a number for a text', { filters: { accountId: '3', type: 'payout' } }],
  ])('When it is used for %s, Then it is refused', async (_, changed) => {
    const cursor = await seal.write(scope, position);

    expect(await wordOf(seal.open({ ...scope, ...changed }, cursor))).toBe('cursor_invalid');
  });

  it('When any of its characters is another, Then it is refused', async () => {
    const cursor = await seal.write(scope, position);
    for (let at = 0; at < cursor.length; at += 1) {
      const forged = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`;
      expect(await wordOf(seal.open(scope, forged))).toBe('cursor_invalid');
    }
  });

  it('When it is made up, Then it is refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.base64String(), fc.stringMatching(/^[A-Za-z0-9_-]{1,90}$/)),
        async (text) => {
          expect(await wordOf(seal.open(scope, text))).toBe('cursor_invalid');
        },
      ),
    );
  });
});
