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

  it('prints the usage with every variable for --help', () => {
    const { status, stdout, stderr } = start('--help');

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: npm start\n/);
    expect(variablesRead().filter((name) => !stdout.includes(name))).toEqual([]);
  });

  // `usageFor` in libs/process has a spec of each mistake.
  it('reports a mistake with how to see the usage, and starts nothing', () => {
    const { status, stdout, stderr } = start('--port', '80');

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe("error: unknown option '--port'\nThe option --help prints the usage.\n");
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
