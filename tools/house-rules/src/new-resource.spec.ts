import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { files } from './workspace.js';
import { WorkspaceCopy } from './workspace-copy.js';

jest.setTimeout(120_000);

const copy = new WorkspaceCopy();
const GENERATOR = 'tools/new-resource/main.mjs';
const WRITTEN = [
  'libs/domain/src/resources/standing-order.ts',
  'libs/operations/src/get-standing-order.ts',
  'apps/api/src/standing-orders/standing-order.dto.ts',
  'apps/api/src/standing-orders/standing-orders.controller.ts',
  'apps/api/src/standing-orders/standing-orders.controller.spec.ts',
];

afterAll(() => copy.remove());

/** Runs a program of the copy, in an environment that knows nothing of the test runner. */
function run(program: string, ...args: string[]) {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], NX_DAEMON: 'false' };
  const options = { cwd: copy.folder, env, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(copy.folder, program), ...args], options);
  return { status, stdout, stderr };
}

function textOf(names: readonly string[]): string {
  return names.map((name) => `${name}\n${copy.read(name)}`).join('\n');
}

describe('Given somebody who wants a new resource', () => {
  it.each(['--help', '-h'])('When they ask for %s Then they get usage and an example', (option) => {
    const { status, stdout, stderr } = run(GENERATOR, option);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: npm run new:resource -- <name> \[options\]\n[\s\S]*\nExample:\n {2}\$ /);
  });

  it.each([
    ["missing required argument 'name'", []],
    ['too many arguments', ['coupon', 'ticket']],
    ["unknown option '--nosuch'", ['coupon', '--nosuch']],
    ["unknown option '-x'", ['coupon', '-x']],
    ["Option '--plural <value>' argument missing", ['coupon', '--plural']],
    ["Option '--dry-run' does not take an argument", ['coupon', '--dry-run=no']],
    ["option '--plural' is given more than once", ['coupon', '--plural', 'coupons', '--plural', 'couponry']],
    ['the plural must differ', ['coupon', '--plural', 'coupon']],
    ["'StandingOrder' is no name", ['StandingOrder']],
    ["'../evil' is no name", ['../evil']],
    ["'2nd' is no name", ['2nd']],
    ["'a--b' is no name", ['a--b']],
    ["'Coupons' is no name", ['coupon', '--plural', 'Coupons']],
    ["'order' is a word of SQL", ['order']],
    ['there is such a resource already: apps/api/src/transfers', ['transfer']],
    ['the domain means something else by Rate', ['rate']],
  ])('When it is "%s", as in %j Then that is said with the usage, and nothing is written', (mistake, args) => {
    const before = textOf(files());

    const { status, stdout, stderr } = run(GENERATOR, ...args);

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toContain(mistake);
    expect(stderr).toContain('\n\nUsage: npm run new:resource');
    expect(textOf(files())).toBe(before);
  });
});

describe('Given a resource that is new', () => {
  const tracked = files();
  let before: string;
  let said: string;

  beforeAll(() => {
    before = textOf(tracked);
    said = run(GENERATOR, 'standing-order', '--dry-run').stdout;
  });

  it('When it is tried first Then all that would be written is said, and nothing is', () => {
    for (const file of WRITTEN) expect(said).toContain(`would write  ${file}\n`);
    expect(said).toContain('would change apps/api/src/app.module.ts\n');
    expect(said).toMatch(/\nNothing was written\.\n$/);
    expect(textOf(tracked)).toBe(before);
    expect(() => copy.read(WRITTEN[0]!)).toThrow('ENOENT');
  });

  describe('When it has been written', () => {
    let changed: string[];

    beforeAll(() => {
      const { status, stdout, stderr } = run(GENERATOR, 'standing-order');
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/\nNext:\n {2}1\. /);
      changed = [...stdout.matchAll(/^(?:write|change) +(\S+)$/gm)].map(([, file]) => file ?? '');
    });

    it('Then it was what was announced', () => {
      const announced = [...said.matchAll(/^would (?:write|change) +(\S+)$/gm)].map(([, file]) => file);
      expect(changed).toEqual(announced);
      expect(changed).toEqual(expect.arrayContaining(WRITTEN));
    });

    it('Then it compiles', () => {
      expect(run('node_modules/typescript/bin/tsc', '--build', 'apps/api', 'libs/client')).toMatchObject({
        status: 0,
        stdout: '',
      });
    });

    it('Then lint and formatting have nothing against it', () => {
      const sources = changed.filter((file) => file.endsWith('.ts'));
      const { status, stdout } = run('node_modules/eslint/bin/eslint.js', '--format', 'json', ...sources);

      const found = (JSON.parse(stdout.slice(stdout.indexOf('[{'))) as { messages: unknown[] }[]).flatMap(
        ({ messages }) => messages,
      );
      expect({ status, found }).toEqual({ status: 0, found: [] });
      const texts = changed.filter((file) => !file.endsWith('.sql'));
      expect(run('node_modules/prettier/bin/prettier.cjs', '--check', ...texts).status).toBe(0);
    });

    it('Then its spec passes', () => {
      const args = ['standing-orders', '-c', 'apps/api/jest.config.cjs', '--reporters', 'default'];

      const { status, stderr } = run('node_modules/jest/bin/jest.js', ...args);

      expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringMatching(/^Tests: +5 passed, 5 total$/m) });
    });

    it('Then writing it again is refused', () => {
      const { status, stderr } = run(GENERATOR, 'standing-order');

      expect(status).toBe(2);
      expect(stderr).toContain('error: there is such a resource already: apps/api/src/standing-orders');
    });
  });
});
