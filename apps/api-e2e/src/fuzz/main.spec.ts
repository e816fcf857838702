import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const DIST = join(__dirname, '..', '..', 'dist');

describe.each([
  ['fuzz', 'fuzz/main.js', '--seed'],
  ['sockets', 'sockets/main.js', '--seconds'],
])('npm run %s', (name, main, option) => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(DIST, main), ...args], { encoding: 'utf8' });
    return { status, stdout, stderr };
  };

  it.each(['--help', '-h'])('prints only the usage for %s', (help) => {
    const { status, stdout, stderr } = run(help);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: npm run ${name} -- `));
  });

  it.each([[['--nosuch']], [['nosuch']], [[option, 'many']], [[option]]])(
    'reports the mistake of %j with the usage and exit code 2',
    (args) => {
      const { status, stdout, stderr } = run(...args);

      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toMatch(new RegExp(`^error: .+\n\nUsage: npm run ${name} -- `, 's'));
    },
  );
});
