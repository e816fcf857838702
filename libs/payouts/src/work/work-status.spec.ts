import { Refusal } from '@banking/domain';
import { KIND, openQueue, type Queue } from '../testing/queue.js';
import { NORTH, passTime, type World } from '../testing/world.js';
import { openWork } from './open-work.js';

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

describe('Given the state of a queue', () => {
  it('When a worker is asked for it, Then it is counted by kind, and read again only after a while', async () => {
    const [first, second] = await queue.lay(3);
    await world.database.flight({}, [openWork([{ workspaceId: NORTH, kind: 'other', subjectId: 1 }])]);
    const park = (id?: number) =>
      world.owner.query('update work set parked_at = now() where subject_id = $1 and kind = $2', [id, KIND]);
    await park(first);
    await passTime(world, 90_000);
    const worker = queue.workerOf(async () => 'done');

    const status = await worker.readStatus();
    await park(second);

    expect(status).toEqual({ parked: { [KIND]: 1 }, oldestDueSeconds: expect.any(Number) });
    expect(status.oldestDueSeconds).toBeGreaterThanOrEqual(90);
    expect(await worker.readStatus()).toBe(status);
    expect((await queue.workerOf(async () => 'done').readStatus()).parked).toEqual({ [KIND]: 2 });
  });

  it('When nothing is parked or due, Then that is said', async () => {
    await queue.lay(1, NORTH, '2999-01-01T00:00:00Z');

    expect(await queue.workerOf(async () => 'done').readStatus()).toEqual({ parked: {}, oldestDueSeconds: 0 });
  });

  it('reads a state that cannot be read once a second', async () => {
    const worker = queue.workerOf(async () => 'done');
    const now = jest.spyOn(performance, 'now').mockReturnValue(50_000);
    const flight = jest.spyOn(world.database, 'flight').mockRejectedValue(new Refusal('unavailable'));
    const refused = async () =>
      worker.readStatus().then(
        () => undefined,
        ({ reason }: Refusal) => reason,
      );

    const together = await Promise.all([refused(), refused(), refused()]);
    now.mockReturnValue(51_000);
    const within = await refused();
    const asked = flight.mock.calls.length;
    flight.mockRestore();
    now.mockReturnValue(51_001);

    expect([...together, within, asked]).toEqual(['unavailable', 'unavailable', 'unavailable', 'unavailable', 1]);
    expect(await worker.readStatus()).toEqual({ parked: {}, oldestDueSeconds: 0 });
    now.mockRestore();
  });
});
