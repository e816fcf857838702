import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROMISES } from '../promises.js';
import { CONTROLS } from './all-controls.js';
import { applyChanges } from './apply-changes.js';
import { isRun } from './control.js';
import { ROOT } from './workspace-copy.js';

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

const PARTS_MAX = 6;

/**
 * Whether a part of a full name of a test occurs in a spec: as a whole, or in parts. The names of describe blocks and tests are parts,
 * and `it.each` inserts texts in between.
 */
function isNamed(spec: string, test: string, partsLeft = PARTS_MAX): boolean {
  if (test === '') return true;
  if (partsLeft === 0) return false;
  const words = test.split(' ');
  // The longest part first, so that few parts are needed.
  const ends = words.map((_, index) => words.length - index);
  const end = ends.find((one) => spec.includes(words.slice(0, one).join(' ')));
  return end !== undefined && isNamed(spec, words.slice(end).join(' '), partsLeft - 1);
}

describe('controls', () => {
  it('have distinct names', () => {
    const names = CONTROLS.map(({ name }) => name);

    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names.filter((name) => !/^[a-z]+(-[a-z]+)+$/.test(name))).toEqual([]);
  });

  it.each(CONTROLS)('replaces texts that the sources have exactly once: $name', ({ changes }) => {
    expect(changes.length).toBeGreaterThan(0);
    const texts = applyChanges(changes, read);
    for (const [file, text] of texts) expect(text).not.toBe(read(file));
  });

  it.each(CONTROLS)('is caught by tests and runs that exist: $name', ({ caughtBy, compiles = [] }) => {
    expect(caughtBy.length).toBeGreaterThan(0);
    expect(compiles.filter((project) => !existsSync(join(ROOT, project, 'tsconfig.build.json')))).toEqual([]);
    for (const catcher of caughtBy) {
      if (isRun(catcher)) expect(PROMISES.map(({ id }) => id)).toContain(catcher.run.promise);
      else expect({ ...catcher, isNamed: isNamed(read(catcher.spec), catcher.test) }).toMatchObject({ isNamed: true });
    }
  });

  it('compiles what it changes, if a catcher starts compiled programs', () => {
    const uncompiled = CONTROLS.filter(
      ({ caughtBy, compiles }) =>
        compiles === undefined && caughtBy.some((each) => isRun(each) || each.spec.startsWith('apps/api-e2e/')),
    );

    expect(uncompiled.map(({ name }) => name)).toEqual([]);
  });
});
