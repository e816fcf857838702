import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from './config.js';

describe('the command line of the service', () => {
  const MAIN = join(__dirname, '../dist/main.js');

  const folder = mkdtempSync(join(tmpdir(), 'api-usage-'));
  const dataDir = join(folder, 'data');

  afterAll(() => rmSync(folder, { recursive: true }));

  /** Starts with an environment that is refused, so that an unwanted start ends too. */
  function start(...args: string[]) {
    const env = { DATA_DIR: dataDir, PORT: 'none' };
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', env });
    return { status, stdout, stderr };
  }

  it.each(['--help', '-h'])('prints the usage with every variable for %s', (option) => {
    const { status, stdout, stderr } = start(option);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: npm start\n/);
    expect(variablesRead().filter((name) => !stdout.includes(name))).toEqual([]);
  });

  it.each([
    ["unknown option '--port'", ['--port', '80']],
    ["unknown option '--nosuch'", ['--help', '--nosuch']],
    ["unknown option '-p'", ['-p']],
    ['too many arguments', ['now']],
    ['too many arguments', ['--help', 'now']],
  ])('reports "%s" for %j with the usage, and starts nothing', (mistake, args) => {
    const { status, stdout, stderr } = start(...args);

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^error: ${mistake}\n\nUsage: npm start\n`));
    expect(existsSync(dataDir)).toBe(false);
  });

  /** The names of all variables that the configuration reads. */
  function variablesRead(): string[] {
    const names = new Set<string>();
    const environment = new Proxy<Record<string, string>>({}, { get: (_, name) => void names.add(String(name)) });
    readConfig(environment, false);
    return [...names];
  }
});
