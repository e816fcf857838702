import { Refusal } from '@banking/domain';
import { openQueue, type Queue } from './testing/queue.js';
import { NORTH, passTime } from './testing/world.js';
import { choreChannel, workChannel, type WorkMessage } from './work-channels.js';
import { TRIES_MAX } from './work-retry-policies.js';
import { WorkError } from './run-claimed-work.js';
import type { WorkHandler } from './work-handler.js';

let queue: Queue;
let messages: unknown[];
const listen = (message: unknown) => void messages.push({ ...(message as object) });

beforeAll(async () => {
  queue = await openQueue();
});
beforeEach(() => {
  messages = [];
  workChannel.asyncEnd.subscribe(listen);
  choreChannel.asyncEnd.subscribe(listen);
});
afterEach(async () => {
  workChannel.asyncEnd.unsubscribe(listen);
  choreChannel.asyncEnd.unsubscribe(listen);
  await queue.world.owner.query('delete from work');
});
afterAll(() => queue.world.close());

describe('the channel of claimed work', () => {
  it.each<[WorkHandler['run'], Partial<WorkMessage>]>([
    [async () => 'done', { outcome: 'done' }],
    [async () => ({ laterMs: 1 }), { outcome: 'postponed' }],
    [async () => ({ laterMs: 1, heldFor: 'a stop' }), { outcome: 'held' }],
    [() => Promise.reject(new WorkError('no network')), { outcome: 'retried', reason: 'no network' }],
    [() => Promise.reject(new Refusal('unavailable')), { outcome: 'delayed', reason: 'unavailable' }],
    [() => Promise.reject(new Error('a value')), { outcome: 'retried', reason: 'unhandled error: see the log' }],
  ])('publishes the result of %s', async (run, expected) => {
    await queue.enqueue();

    await queue.workerOf(run).step();

    expect(messages).toEqual([{ kind: 'test', workspaceId: NORTH, tries: 1, result: undefined, ...expected }]);
  });

  it('publishes that work was parked, and that a claim was lost', async () => {
    const [id] = await queue.enqueue();
    const { owner } = queue.world;
    await owner.query('update work set tries = $1', [TRIES_MAX - 1]);
    await queue.workerOf(() => Promise.reject(new WorkError('no network'))).step();
    await owner.query('update work set parked_at = null, tries = 0, due_at = now() where subject_id = $1', [id]);
    await queue
      .workerOf(async () => {
        await passTime(queue.world, 60_000);
        await owner.query('update work set fence = fence + 1');
        return 'done';
      })
      .step();

    expect(messages).toMatchObject([{ outcome: 'parked', tries: TRIES_MAX }, { outcome: 'lost' }]);
  });
});

describe('the channel of chores', () => {
  it('publishes each run with its result or error', async () => {
    const error = new Error('no statistics');
    const chores = [
      { name: 'one', run: async () => 3 },
      { name: 'two', run: () => Promise.reject(error) },
    ];

    await queue.workerOf(async () => 'done', { chores }).step();

    expect(messages).toEqual([
      { name: 'one', result: 3 },
      { name: 'two', error },
    ]);
  });
});
