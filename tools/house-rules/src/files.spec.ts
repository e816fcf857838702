import { emptyNamesIn } from '../lint/telling-names.mjs';
import { files, read } from './workspace.js';

/** Written in pieces, so that this file passes its own test. */
const FOREIGN_PATHS = [
  new RegExp(`(?<![\\w.~-])/(?:${['work', 'home', 'Users'].join('|')})/`),
  new RegExp(`\\.\\./${'shared'}`),
];

const LINES_MAX = 260;

describe('Given the files of this repository', () => {
  it('When one names a path Then it is none of the machine it was written on', () => {
    const naming = files().filter((file) => FOREIGN_PATHS.some((path) => path.test(read(file))));

    expect(naming).toEqual([]);
  });

  it('When a path is of this machine Then the rule knows it', () => {
    const texts = ['work', 'home', 'Users'].map((top) => `see "/${top}/me/notes.md"`).concat(`../${'shared'}/notes.md`);

    expect(texts.filter((text) => FOREIGN_PATHS.some((path) => path.test(text)))).toEqual(texts);
    expect(FOREIGN_PATHS.some((path) => path.test('https://example.com/work/ apps/home/ ./work/'))).toBe(false);
  });

  it('When a folder or file has a name Then the name says what is in it', () => {
    const named = files().filter((file) => /^(?:apps|libs|tools)\//.test(file));

    expect(named.filter((file) => emptyNamesIn(file).length > 0)).toEqual([]);
  });

  it.each([
    ['libs/ledger/migrations/common/0001-books.sql', ['common']],
    ['apps/api/src/shared/types/index.ts', ['shared', 'types']],
    ['apps/api/src/orders/order.types.ts', ['order.types.ts']],
    ['tools/string-utils.mjs', ['string-utils.mjs']],
    ['tools/misc/core/base.json', ['misc', 'core', 'base.json']],
    ['libs/postgres/src/column-types.ts', []],
    ['tools/packages/src/types.spec.ts', []],
    ['tools/test.mjs', []],
  ])('When it is called %s Then %j say nothing', (file, empty) => {
    expect(emptyNamesIn(file)).toEqual(empty);
  });

  it(`When it is source code Then it stays under ${LINES_MAX} lines`, () => {
    const sources = files().filter(
      (file) =>
        /^(?:apps|libs)\/[^/]+\/src\/.*\.ts$/.test(file) && !/\.(?:data|generated)\.ts$|\/generated\//.test(file),
    );

    const long = sources
      .map((file) => ({ file, lines: read(file).split('\n').length - 1 }))
      .filter(({ lines }) => lines >= LINES_MAX);

    expect(long).toEqual([]);
  });
});
