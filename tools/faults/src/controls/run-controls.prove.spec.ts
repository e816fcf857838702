import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONTROLS } from './all-controls.js';
import type { Control } from './control.js';
import { runControls } from './run-controls.js';
import { ROOT } from './workspace-copy.js';

const RUN_MS = 180_000;

const control = CONTROLS.find(({ name }) => name === 'overdrafts-not-refused')!;
const [change] = control.changes as [Control['changes'][number]];

/** The control with one thing different. */
const changed = (name: string, more: Partial<Control>): Control => ({ ...control, name, ...more });

const CASES: readonly Control[] = [
  control,
  changed('harmless', { changes: [{ ...change, to: `${change.from}\n` }] }),
  changed('gone', { changes: [{ ...change, from: 'no such text' }] }),
  changed('unreadable', { changes: [{ ...change, to: '}}' }] }),
];

describe('a run of controls', () => {
  it(
    'tells a fault that is caught from one that is missed, outdated or broken, and changes no file of the workspace',
    async () => {
      const source = readFileSync(join(ROOT, change.file), 'utf8');
      const folders: string[] = [];

      const tried = await runControls(CASES, new AbortController().signal, (line) => folders.push(line));

      expect(tried.map(({ verdict }) => verdict)).toEqual(['caught', 'missed', 'outdated', 'broken']);
      expect(tried[0]?.by).toContain('leaves no account below zero');
      expect(readFileSync(join(ROOT, change.file), 'utf8')).toBe(source);
      const folder = folders[0]!.replace('working in ', '');
      expect(existsSync(folder)).toBe(false);
    },
    RUN_MS,
  );

  it(
    'is broken by a spec that fails without a fault',
    async () => {
      const impossible = changed('impossible', { caughtBy: [{ spec: 'libs/ledger/src/nosuch.spec.ts', test: 'a' }] });

      const [tried] = await runControls([impossible], new AbortController().signal, () => undefined);

      expect(tried).toMatchObject({
        verdict: 'broken',
        by: 'libs/ledger/src/nosuch.spec.ts fails without a fault: it did not run',
      });
    },
    RUN_MS,
  );
});
