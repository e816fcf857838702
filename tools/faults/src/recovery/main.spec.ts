import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const MAIN = join(__dirname, '../../dist/recovery/main.js');

function recovery(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('recovery command', () => {
  it('lists recoveries, options and exit codes with --help', () => {
    const { status, stdout } = recovery('--help');

    expect(status).toBe(0);
    expect(stdout).toMatch(
      /--transfers .+ dump .+ pitr .+ replica-sync .+ replica-async .+ failover-sync .+ failover-async .+ 3 skipped/s,
    );
  });

  it('is skipped with exit code 3 where a PostgreSQL program is missing, and names it', () => {
    const { status, stdout, stderr } = recovery('dump', '--bin', __dirname);

    expect({ status, stderr }).toEqual({ status: 3, stderr: '' });
    expect(stdout).toMatch(/^Skipped: .+ lacks initdb, .+pg_dump.+ Install the PostgreSQL server and client packages/);
  });

  it.each([
    [[], "missing required argument 'recovery'"],
    [['copy'], "'copy' is invalid"],
    [['dump', '--orders', 'many'], 'Give a whole number'],
    [['dump', '--sideways'], "unknown option '--sideways'"],
  ])('reports an error with its usage and exit code 2 for %j', (args, words) => {
    const { status, stdout, stderr } = recovery(...args);

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(words);
    expect(stderr).toContain('Usage: recovery');
  });
});
