import { emptyNamesIn } from '../lint/telling-names.mjs';
import { files, read } from './workspace.js';

/** Written in pieces, so that this file passes its own test. */
const FOREIGN_PATHS = [
  new RegExp(`(?<![\\w.~-])/(?:${['work', 'home', 'Users'].join('|')})/`),
  new RegExp(`\\.\\./${'shared'}`),
];

describe('the files of this repository', () => {
  it('name no path of a developer machine', () => {
    const naming = files().filter((file) => FOREIGN_PATHS.some((path) => path.test(read(file))));

    expect(naming).toEqual([]);
  });

  it('are searched for each form of such a path', () => {
    const texts = ['work', 'home', 'Users'].map((top) => `see "/${top}/me/notes.md"`).concat(`../${'shared'}/notes.md`);

    expect(texts.filter((text) => FOREIGN_PATHS.some((path) => path.test(text)))).toEqual(texts);
    expect(FOREIGN_PATHS.some((path) => path.test('https://example.com/work/ apps/home/ ./work/'))).toBe(false);
  });

  it('have names that describe their content', () => {
    const named = files().filter((file) => /^(?:apps|libs|tools)\//.test(file));

    expect(named.filter((file) => emptyNamesIn(file).length > 0)).toEqual([]);
  });

  it.each([
    ['libs/schema/migrations/common/0001-deployment.sql', ['common']],
    ['apps/api/src/shared/types/index.ts', ['shared', 'types']],
    ['apps/api/src/orders/order.types.ts', ['order.types.ts']],
    ['tools/string-utils.mjs', ['string-utils.mjs']],
    ['tools/misc/core/base.json', ['misc', 'core', 'base.json']],
    ['libs/postgres/src/column-types.ts', []],
    ['tools/packages/src/types.spec.ts', []],
    ['tools/test.mjs', []],
  ])('are checked for empty names: %s has %j', (file, empty) => {
    expect(emptyNamesIn(file)).toEqual(empty);
  });
});
