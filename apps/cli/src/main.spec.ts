import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { World } from './testing/world.js';

/** A device of Linux without space. */
const FULL = '/dev/full';

const world = new World();

beforeAll(() => world.openDemo());
afterAll(() => world.close());

(existsSync(FULL) ? describe : describe.skip)('the output to a full device', () => {
  it.each(['--help', 'workspace list'])('of banking %s fails in one sentence', async (command) => {
    const full = openSync(FULL, 'w');
    const child = world.start(command.split(' '), {}, full);
    closeSync(full);
    const closed = once(child, 'close');

    expect(await text(child.stderr!)).toBe(
      'The output could not be written (ENOSPC), so its end is missing; what the command changed stays changed.\n',
    );
    expect(await closed).toEqual([1, null]);
  });

  it('leaves what a command changed', async () => {
    const before = await world.query('select count(*)::int as count from app');
    const full = openSync(FULL, 'w');
    const command = world.start(['app', 'add', 'Harbour Treasury'], {}, full);
    closeSync(full);

    expect(await once(command, 'close')).toEqual([1, null]);
    const after = await world.query('select count(*)::int as count from app');
    expect(after).toEqual([{ count: Number(before[0]?.['count']) + 1 }]);
  });
});
