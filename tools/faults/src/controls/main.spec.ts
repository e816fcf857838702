import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { CONTROLS } from './all-controls.js';

const MAIN = join(__dirname, '../../dist/controls/main.js');

function controls(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('controls command', () => {
  it('prints its usage with --help', () => {
    const { status, stdout } = controls('--help');

    expect(status).toBe(0);
    expect(stdout).toContain('--list');
    expect(stdout).toContain('outdated');
  });

  it('lists every control with what must catch it', () => {
    const { status, stdout } = controls('--list');

    expect(status).toBe(0);
    for (const { name, promise, plants } of CONTROLS) expect(stdout).toContain(`${name} (${promise}): ${plants}\n  `);
    expect(stdout).toContain('libs/ledger/src/decide.spec.ts: ');
    expect(stdout).toContain('npm run faults -- P4 ');
  });

  it('lists the named controls only', () => {
    const { stdout } = controls('--list', CONTROLS[0]!.name);

    expect(stdout.split('\n').filter((line) => /^\S/.test(line))).toHaveLength(1);
  });

  it.each([
    [['nosuch'], '--list prints the names of all controls.'],
    [['--nosuch'], "unknown option '--nosuch'"],
  ])('reports an error with its usage and exit code 2 for %j', (args, words) => {
    const { status, stdout, stderr } = controls(...args);

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(words);
    expect(stderr).toContain('Usage: controls');
  });
});
