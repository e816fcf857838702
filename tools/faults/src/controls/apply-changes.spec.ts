import { applyChanges, OutdatedError } from './apply-changes.js';

const files: Readonly<Record<string, string>> = { 'a.ts': 'one two three', 'b.sql': 'lock; lock;' };
const read = (file: string) => files[file]!;

describe('changes of sources', () => {
  it('replace texts of several files, one after another, and insert them as they are', () => {
    const changes = [
      { file: 'a.ts', from: 'two', to: '$& $1 2' },
      { file: 'a.ts', from: '2 three', to: '3' },
      { file: 'b.sql', from: '; lock', to: '' },
    ];

    expect(Object.fromEntries(applyChanges(changes, read))).toEqual({ 'a.ts': 'one $& $1 3', 'b.sql': 'lock;' });
  });

  it.each([
    [{ file: 'a.ts', from: 'four', to: '' }, 'a.ts no longer has the text: four'],
    [{ file: 'b.sql', from: 'lock', to: '' }, 'b.sql has 2 times the text: lock'],
  ])('are outdated unless the text occurs once: %j', (change, message) => {
    expect(() => applyChanges([change], read)).toThrow(new OutdatedError(message));
  });
});
