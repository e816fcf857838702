import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Summary } from './summary.js';
import { bench } from './testing/bench-process.js';

describe('benchmark command', () => {
  it('runs a bench in a process of its own and writes its figures, from which table and chart are made', () => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-spec-'));
    const file = join(folder, 'all.json');
    try {
      const { status, stdout, stderr } = bench('all', '--brief', '--json', file, '--only', 'settled');

      expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
      expect(stderr).toContain('Proving the books');
      const { environment, isBrief, benches } = JSON.parse(readFileSync(file, 'utf8')) as Summary;
      expect(environment.postgres).toMatch(/^\d+\.\d+/);
      expect(isBrief).toBe(true);
      expect(benches.map(({ bench: name, figures }) => [name, figures.map(({ unit }) => unit)])).toEqual([
        ['settled', ['ratio', 'per second', 'ratio', 'MB']],
      ]);
      for (const { value } of benches.flatMap(({ figures }) => figures)) expect(value).toBeGreaterThan(0);
      expect(bench('table', file).stdout).toBe(stdout);
      expect(bench('chart', file).stdout).toContain('<svg ');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 240_000);
});
