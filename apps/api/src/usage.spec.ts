import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { readConfig } from './config.js';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MAIN = join(__dirname, '../dist/main.js');

describe('Given the service on a command line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'api-usage-'));
  const dataDir = join(folder, 'data');

  afterAll(() => rmSync(folder, { recursive: true }));

  /** In an environment that would be refused, so that a start that is tried ends too. */
  function start(...args: string[]) {
    const env = { DATA_DIR: dataDir, PORT: 'none' };
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', env });
    return { status, stdout, stderr };
  }

  it.each(['--help', '-h'])('When %s is asked for, Then usage with every variable is printed', (option) => {
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
  ])('When it is "%s", as in %j, Then that is said with the usage, and nothing is started', (mistake, args) => {
    const { status, stdout, stderr } = start(...args);

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^error: ${mistake}\n\nUsage: npm start\n`));
    expect(existsSync(dataDir)).toBe(false);
  });
});

/** The names the configuration asks for, whatever they are. */
function variablesRead(): string[] {
  const names = new Set<string>();
  const environment = new Proxy<Record<string, string>>({}, { get: (_, name) => void names.add(String(name)) });
  readConfig(environment, false);
  return [...names];
}
