import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { files } from './workspace.js';
import { WorkspaceCopy } from './workspace-copy.js';

const copy = new WorkspaceCopy();
const NX = 'node_modules/nx/dist/bin/nx.js';
const GENERATE = ['g', '@banking/tools:resource', 'standing-order'];

afterAll(() => copy.remove());

/** Runs a program of the copy, without the environment of the test runner. */
function run(program: string, ...args: string[]) {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], NX_DAEMON: 'false', NO_COLOR: '1' };
  const options = { cwd: copy.folder, env, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(copy.folder, program), ...args], options);
  return { status, stdout, stderr };
}

/** The files that Nx prints, each as `CREATE path` or `UPDATE path`. */
const printed = (stdout: string): string[] => stdout.match(/^(?:CREATE|UPDATE) \S+$/gm) ?? [];

const textOf = (names: readonly string[]) => names.map((name) => `${name}\n${copy.read(name)}`).join('\n');

describe('a generated resource', () => {
  const tracked = files();
  let announced: string[];
  let changed: string[];

  beforeAll(() => {
    const before = textOf(tracked);
    const dry = run(NX, ...GENERATE, '--dry-run');
    expect(textOf(tracked)).toBe(before);
    announced = printed(dry.stdout);

    const { status, stdout } = run(NX, ...GENERATE);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/\nNext:\n {2}1\. /) });
    changed = printed(stdout);
  });

  it('has the files that --dry-run prints', () => {
    expect(announced.length).toBeGreaterThan(10);
    expect(changed).toEqual(announced);
  });

  it('compiles', () => {
    const { status, stdout } = run('node_modules/typescript/bin/tsc', '--build', 'apps/api', 'libs/client');

    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  });

  it('passes lint and formatting', () => {
    const names = changed.map((line) => line.split(' ')[1]!);
    const sources = names.filter((file) => file.endsWith('.ts'));
    const { status, stdout } = run('node_modules/eslint/bin/eslint.js', '--format', 'json', ...sources);
    const results = JSON.parse(stdout.slice(stdout.indexOf('[{'))) as { messages: unknown[] }[];

    expect({ status, messages: results.flatMap(({ messages }) => messages) }).toEqual({ status: 0, messages: [] });
    const formatted = names.filter((file) => !file.endsWith('.sql'));
    expect(run('node_modules/prettier/bin/prettier.cjs', '--check', ...formatted)).toMatchObject({ status: 0 });
  });

  it('passes its own spec', () => {
    const args = ['standing-orders', '-c', 'apps/api/jest.config.cjs', '--reporters', 'default'];

    const { status, stderr } = run('node_modules/jest/bin/jest.js', ...args);

    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringMatching(/^Tests: +5 passed, 5 total$/m) });
  });

  it('is refused a second time', () => {
    const { status, stdout, stderr } = run(NX, ...GENERATE);

    expect(status).toBe(1);
    expect(stdout + stderr).toContain('The resource exists: apps/api/src/standing-orders');
  });
});

describe('nx g @banking/tools:resource', () => {
  it('prints its arguments with --help', () => {
    const { status, stdout } = run(NX, 'g', '@banking/tools:resource', '--help');

    expect(status).toBe(0);
    expect(stdout).toContain('A noun in the singular');
    expect(stdout).toContain('--plural');
    expect(stdout).not.toContain('undefined');
  });

  it.each([
    ["Required property 'name' is missing", []],
    ["'nosuch' is not found in schema", ['coupon', '--nosuch']],
    ["'StandingOrder' is not a valid name", ['StandingOrder']],
  ])('refuses with "%s" and changes nothing', (message, args) => {
    const before = textOf(files());

    const { status, stdout, stderr } = run(NX, 'g', '@banking/tools:resource', ...args, '--no-interactive');

    expect(status).toBe(1);
    expect(stdout + stderr).toContain(message);
    expect(textOf(files())).toBe(before);
  });
});
