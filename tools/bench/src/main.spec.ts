import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const MAIN = join(__dirname, '../dist/main.js');

function bench(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('benchmark command', () => {
  it('lists its measurements with --help', () => {
    const { status, stdout } = bench('reads', '--help');

    expect(status).toBe(0);
    expect(stdout).toContain('--rounds');
    expect(bench('--help').stdout).toMatch(/reads .*lists .*orders .*client .*gateway .*verification /s);
  });

  it.each([
    [
      [],
      'error: missing command: reads, lists, orders, settled, fresh, grown, client, gateway, replica, memory, verification, metrics, traces, cells, cells-throughput, sizing, all, table, chart, publish',
    ],
    [['writes'], "unknown command 'writes'"],
    [['reads', '--sideways'], "unknown option '--sideways'"],
    [['reads', '--rounds'], 'argument missing'],
    [['reads', '--rounds', '0'], 'Give a whole number, 1 or more.'],
    [['reads', '--seconds', '1.5'], 'Give a whole number, 1 or more.'],
    [['reads', 'again'], 'too many arguments'],
    [['client', '--calls', 'many'], 'Give a whole number, 10 or more.'],
    [['orders', '--cases', 'cold'], 'Allowed choices are accounts, workspaces, hot.'],
  ])('reports an error with its usage and exit code 2 for %j', (args, words) => {
    const { status, stdout, stderr } = bench(...args);

    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(words);
    expect(stderr).toContain('Usage: bench');
  });
});
