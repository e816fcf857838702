import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROMISES, SCENARIOS } from './promises.js';
import { runScenario } from './run-scenario.js';
import { judge } from './verdict.js';

describe('a scenario for which this machine lacks something', () => {
  it('is skipped, and leaves its promise unknown with the reason', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'banking-faults-spec-'));
    const lines: string[] = [];
    const promise = PROMISES.find(({ id }) => id === 'P30')!;
    const scenario = SCENARIOS.find(({ name }) => name === promise.scenario)!;
    const missing = () => 'faketime is not installed';

    const result = await runScenario(
      { ...scenario, missing },
      { promises: [promise], seed: 1, folder, onProgress: (line) => lines.push(line) },
      60_000,
    );

    expect(lines).toEqual(['clock-jumps: skipped, because faketime is not installed']);
    const { verdict, note } = judge(promise, result);
    expect(verdict).toBe('unknown');
    expect(note).toContain('faketime is not installed');
    rmSync(folder, { recursive: true });
  });
});
