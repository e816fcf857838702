import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Figure } from './compare.js';

const MAIN = join(__dirname, '../dist/main.js');
const LITTLE = ['--rounds', '1', '--seconds', '0.2', '--connections', '2'];

describe('each bench', () => {
  it.each([
    ['reads', 4, ['--transfers', '100']],
    ['lists', 3, ['--transfers', '700', '--page', '7']],
    ['orders', 4, ['--accounts', '4', '--workspaces', '2']],
    ['settled', 2, ['--accounts', '4']],
    ['gateway', 3, []],
    ['client', 1, []],
  ])('measures both sides of %s', (name, count, options) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, name, ...LITTLE, ...options, '--json'], {
      encoding: 'utf8',
    });

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const figures = JSON.parse(stdout) as Figure[];
    expect(figures).toHaveLength(count);
    for (const { perSecond, controlPerSecond } of figures) {
      expect(perSecond).toBeGreaterThan(0);
      expect(controlPerSecond).toBeGreaterThan(0);
    }
  });
});
