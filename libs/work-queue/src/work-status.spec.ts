import { Refusal } from '@banking/domain';
import { KIND, openQueue, type Queue } from './testing/queue.js';
import { NORTH, passTime, type World } from './testing/world.js';
import { openWork } from './open-work.js';

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

describe('the status of the queue', () => {
  it('counts parked work and work of other kinds, and is read again after 4 s', async () => {
    const [first, second] = await queue.enqueue(3);
    await world.database.pipeline({}, [openWork([{ workspaceId: NORTH, kind: 'other', subjectId: 1 }])]);
    const park = (id?: number) =>
      world.owner.query('update work set parked_at = now() where subject_id = $1 and kind = $2', [id, KIND]);
    await park(first);
    await passTime(world, 90_000);
    const worker = queue.workerOf(async () => 'done');

    const status = await worker.readStatus();
    await park(second);

    expect(status).toEqual({ parked: { [KIND]: 1 }, unserved: { other: 1 }, oldestDueSeconds: expect.any(Number) });
    expect(status.oldestDueSeconds).toBeGreaterThanOrEqual(90);
    expect(await worker.readStatus()).toBe(status);
    expect((await queue.workerOf(async () => 'done').readStatus()).parked).toEqual({ [KIND]: 2 });
  });

  it('is empty when nothing is parked or due', async () => {
    await queue.enqueue(1, NORTH, '2999-01-01T00:00:00Z');

    expect(await queue.workerOf(async () => 'done').readStatus()).toEqual({
      parked: {},
      unserved: {},
      oldestDueSeconds: 0,
    });
  });

  it('is read once a second while it cannot be read', async () => {
    const worker = queue.workerOf(async () => 'done');
    const now = jest.spyOn(performance, 'now').mockReturnValue(50_000);
    const pipeline = jest.spyOn(world.database, 'pipeline').mockRejectedValue(new Refusal('unavailable'));
    const refused = async () =>
      worker.readStatus().then(
        () => undefined,
        ({ reason }: Refusal) => reason,
      );

    const together = await Promise.all([refused(), refused(), refused()]);
    now.mockReturnValue(51_000);
    const within = await refused();
    const asked = pipeline.mock.calls.length;
    pipeline.mockRestore();
    now.mockReturnValue(51_001);

    expect([...together, within, asked]).toEqual(['unavailable', 'unavailable', 'unavailable', 'unavailable', 1]);
    expect(await worker.readStatus()).toEqual({ parked: {}, unserved: {}, oldestDueSeconds: 0 });
    now.mockRestore();
  });
});
