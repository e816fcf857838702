import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { isCi } from '../config.js';
import { deployFiles, PROGRAMS, read, reads, readSettings, ROOT } from './deploy-files.js';

const units = deployFiles('.service');

/** The values of a directive. */
const valuesOf = (unit: string, directive: string) =>
  [...read(unit).matchAll(new RegExp(`^${directive}=(.+)$`, 'gm'))].map(([, value = '']) => value);

describe('the units of deploy/systemd', () => {
  it('are a service, a worker and the migrations', () => {
    expect([...units].sort()).toEqual(
      ['api', 'migrate', 'worker'].map((name) => `deploy/systemd/banking-${name}.service`),
    );
  });

  it.each(units)('start a program of the archive, with variables that it reads (%s)', (unit) => {
    const [start = ''] = valuesOf(unit, 'ExecStart');
    const program = PROGRAMS.find((one) => start.startsWith(`/usr/bin/node ${one}`));
    const [file = ''] = valuesOf(unit, 'EnvironmentFile');
    const settings = readSettings(file.replace('/etc/banking/', 'deploy/systemd/'));
    const named = valuesOf(unit, 'Environment').map((value) => value.split('=', 1)[0] ?? '');

    expect(program).toBeDefined();
    // One file serves service and worker.
    const readers = file.endsWith('service.env') ? PROGRAMS.slice(0, 2) : [program!];
    const unread = Object.keys(settings).filter((name) => !readers.some((one) => reads(one, name)));
    expect(unread).toEqual([]);
    expect(named.filter((name) => !reads(program!, name))).toEqual([]);
  });

  it('trust a proxy of the machine', () => {
    expect(readSettings('deploy/systemd/service.env')).toMatchObject({
      HOST: '127.0.0.1',
      TRUSTED_PROXIES: '127.0.0.1,::1',
    });
  });

  it.each(units)('hand over each secret by a credential (%s)', (unit) => {
    const credentials = valuesOf(unit, 'LoadCredential').map((value) => value.split(':', 1)[0]);
    const files = valuesOf(unit, 'Environment').map((value) => /^[A-Z_]+_FILE=%d\/(.+)$/.exec(value)?.[1]);

    expect(files).toEqual(credentials);
    expect(credentials.length).toBeGreaterThan(0);
  });

  it.each(units)('have settings without a password (%s)', (unit) => {
    const [file = ''] = valuesOf(unit, 'EnvironmentFile');

    expect(read(file.replace('/etc/banking/', 'deploy/systemd/'))).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@/);
  });

  it.each(units.filter((unit) => !unit.includes('migrate')))('let the process stop (%s)', (unit) => {
    expect(Number(valuesOf(unit, 'TimeoutStopSec')[0])).toBeGreaterThan(18);
    expect(valuesOf(unit, 'RestartPreventExitStatus')).toEqual(['2']);
  });

  const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8', cwd: ROOT });
  const isThere = analyze('--version').status === 0;
  // A machine without systemd skips these, visibly. CI must run them.
  const itWithSystemd = isThere || isCi() ? it : it.skip;

  itWithSystemd.each(units)('are accepted by systemd-analyze verify (%s)', (unit) => {
    const { status, stderr, error } = analyze('verify', '--man=no', join(ROOT, unit));

    // The archive is not installed here, and Node may be in another folder.
    const complaints = stderr
      .split('\n')
      .filter((line) => line !== '' && !/\/usr\/bin\/node is not executable/.test(line));
    expect({ complaints, error }).toEqual({ complaints: [], error: undefined });
    expect(status === 0 || stderr.includes('not executable')).toBe(true);
  });

  itWithSystemd.each(units)('have an exposure of at most 1.5 of 10 (%s)', (unit) => {
    const { status, stdout, stderr } = analyze('security', '--offline=true', '--threshold=15', unit);

    expect({ status, summary: stdout.split('\n').at(-2), stderr }).toEqual({
      status: 0,
      summary: expect.stringMatching(/^→ Overall exposure level for .+: 1\.\d OK/) as unknown,
      stderr: '',
    });
  });
});
