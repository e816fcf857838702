import type { Event } from '@banking/domain';
import { ended, World } from './testing/world.js';

const world = new World();
let workspaceEvents: readonly number[];

beforeAll(async () => {
  await world.openDemo();
  const rows = await world.query('select id::int from event where workspace_id = 1 order by id');
  workspaceEvents = rows.map(({ id }) => id as number);
});
afterAll(() => world.close());

/** Runs the command until its output has so many lines, then presses Ctrl-C. */
async function tail(lines: number, ...args: readonly string[]) {
  const child = world.start(['events', 'tail', '--workspace', '1', ...args]);
  let output = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (output.split('\n').length > lines) child.kill('SIGINT');
  });
  return ended(child);
}

describe('banking events tail', () => {
  it('prints events behind an id, without colours for a pipe, and ends with 0 by Ctrl-C', async () => {
    const { exitCode, stdout, stderr } = await tail(workspaceEvents.length - 1, '--after', String(workspaceEvents[0]));

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => Number(line.split(/ +/)[1]))).toEqual(workspaceEvents.slice(1));
    expect(stdout).toMatch(/^\S+Z +\d+ {2}order\.completed +order \d+ +active → completed {2}by \w+/m);
    expect(stdout).not.toContain('\u001b');
  });

  it('prints the events of some types as JSON, and waits for the next', async () => {
    const before = await world.query(`select id from event where workspace_id = 1 and type = 'account.opened'`);
    const running = tail(before.length + 1, '--after', '0', '--json', '--type', 'account.opened');
    await world.query(
      `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
       values (1, 'account.opened', 'account', 999999, 1, '{"status": {"before": null, "after": "enabled"}}', '{"type": "user", "id": 1}', now())`,
    );

    const { exitCode, stdout } = await running;
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Event);
    expect(exitCode).toBe(0);
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['account.opened']));
    expect(events.at(-1)).toMatchObject({
      resource: { type: 'account', id: 999_999 },
      changes: { status: { after: 'enabled' } },
      actor: { type: 'user', id: 1 },
    });
  });

  it.each<[string, readonly string[], number, string]>([
    ['an unknown workspace', ['--workspace', '999'], 1, 'There is no workspace 999. See banking workspace list.\n'],
    ['an unknown type', ['--workspace', '1', '--type', 'order.lost'], 2, "argument 'order.lost' is invalid"],
    ['an id that is none', ['--workspace', '1', '--after', '-1'], 2, 'Write an id as digits'],
  ])('refuses %s', async (_, args, exitCode, message) => {
    const run = await world.run(['events', 'tail', ...args]);
    expect(run).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(message) as string });
  });
});
