import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const FOLDER = join(__dirname, '../../../deploy/prometheus');

const run = (...args: readonly string[]) => {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' });
  return { error, status, output: `${stdout}${stderr}` };
};

// Debian's package prometheus has promtool. CI must have it.
const isMissing = run('--version').error !== undefined && process.env['CI'] !== 'true';

(isMissing ? describe.skip : describe)('the alert rules', () => {
  it('are valid for Prometheus', () => {
    expect(run('check', 'rules', 'alerts.yaml')).toMatchObject({
      status: 0,
      output: expect.stringMatching(/SUCCESS: \d+ rules found/),
    });
  });

  it('fire for the series of their tests, and not for the others', () => {
    expect(run('test', 'rules', 'alerts.test.yaml')).toMatchObject({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  });
});
