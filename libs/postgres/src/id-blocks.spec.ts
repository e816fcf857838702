import { IdBlocks } from './id-blocks.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

describe('ids in blocks', () => {
  let world: FreshDatabase;

  beforeAll(async () => {
    world = await freshDatabase();
  });
  afterAll(() => world.close());

  it('never repeat for callers at the same time', async () => {
    const sources = [3, 10, 256].map((size) => new IdBlocks(world.database, 'note_id_seq', size));
    const takeSome = async (ids: IdBlocks, count: number) => {
      await ids.ready(count);
      return Array.from({ length: count }, () => ids.take());
    };

    const batches = await Promise.all(
      sources.flatMap((ids) => Array.from({ length: 40 }, (_, at) => takeSome(ids, (at * 7) % 23))),
    );

    const taken = batches.flat();
    expect(new Set(taken).size).toBe(taken.length);
    expect(batches.every((batch) => batch.every((id, at) => id > (batch[at - 1] ?? 0)))).toBe(true);
  });

  it('need few round trips', async () => {
    const read = jest.spyOn(world.database, 'read');
    const ids = new IdBlocks(world.database, 'note_id_seq', 100);

    for (let taken = 0; taken < 1000; taken += 10) {
      await ids.ready(10);
      for (let i = 0; i < 10; i++) ids.take();
    }

    expect(read.mock.calls.length).toBeLessThanOrEqual(22);
    read.mockRestore();
  });

  it('are not fetched again if callers take fewer than they requested', async () => {
    const ids = new IdBlocks(world.database, 'note_id_seq', 10);
    const read = jest.spyOn(world.database, 'read');

    for (let round = 0; round < 50; round++) {
      await ids.ready(8);
      await new Promise(setImmediate);
    }

    expect(read.mock.calls.length).toBeLessThanOrEqual(2);
    read.mockRestore();
  });

  it('cannot be taken before they are ready', () => {
    const ids = new IdBlocks(world.database, 'note_id_seq');

    expect(() => ids.take()).toThrow('no id of note_id_seq is ready');
  });

  it('can be fetched again after a failure', async () => {
    const read = jest.spyOn(world.database, 'read').mockRejectedValueOnce(new Error('away'));
    const ids = new IdBlocks(world.database, 'note_id_seq', 4);

    await expect(ids.ready(1)).rejects.toThrow('away');
    await ids.ready(1);

    expect(ids.take()).toBeGreaterThan(0);
    read.mockRestore();
  });
});
