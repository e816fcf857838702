import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const MAIN = join(__dirname, '../dist/main.js');

function bench(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('benchmark command', () => {
  it('lists its measurements with --help', () => {
    expect(bench('--help').stdout).toMatch(/reads .*lists .*orders .*settled .*gateway .*client .*Exit codes/s);
    expect(bench('reads', '--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--rounds') });
  });

  it.each([
    [[], 'error: missing command: reads, lists, orders, settled, gateway, client, all'],
    [['reads', '--rounds', '0'], 'Give a whole number, 1 or more.'],
    [['orders', '--cases', 'cold'], 'Allowed choices are accounts, workspaces, hot.'],
  ])('reports an error with its usage and exit code 2 for %j', (args, words) => {
    const { status, stdout, stderr } = bench(...args);

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(words);
    expect(stderr).toContain('Usage: bench');
  });
});
