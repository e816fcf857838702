import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const MAIN = join(__dirname, '../dist/main.js');

function faults(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('faults command', () => {
  it('lists promises and options with --help', () => {
    const { status, stdout } = faults('--help');

    expect(status).toBe(0);
    expect(stdout).toContain('--seed');
    expect(stdout).toContain('--minutes');
    expect(stdout).toMatch(/P1 .*P2 .*P3 .*P5 .*P6 .*P8 .*P9 /s);
  });

  it.each([
    [['P99'], "Unknown promise 'P99'"],
    [['P1', '--seed', '4294967296'], 'Give a whole number from 0 to 4294967295.'],
    [['P1', '--minutes', '0'], 'Give a number of minutes above 0'],
  ])('reports an error with its usage and exit code 2 for %j', (args, words) => {
    const { status, stdout, stderr } = faults(...args);

    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(words);
    expect(stderr).toContain('Usage: faults');
  });
});
