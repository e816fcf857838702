import { DatabaseError, BatchedCalls, pipelineChannel } from '@banking/postgres';
import { recordedSpans } from '../testing/recorded-spans.js';
import { followDatabase } from './channel-spans.js';

describe('spans of the database', () => {
  const { spans, ended } = recordedSpans();
  beforeAll(() => followDatabase(spans));
  afterAll(() => spans.unfollow());

  const pipeline = (statements: readonly string[], work: () => Promise<unknown> = async () => undefined) =>
    pipelineChannel.tracePromise(work, { statements });
  const named = (name: string) => ended().filter((span) => span.name === name);

  it('belong to the active span, and none is made without one', async () => {
    const request = spans.startRoot('request', {});

    await pipeline(['scope', 'polled']);
    await spans.run(request, () => pipeline(['begin', 'scope', 'read', 'write', 'commit']));

    expect(named('polled')).toEqual([]);
    expect(named('begin read write commit')).toMatchObject([
      { parentId: request.spanContext().spanId, attributes: { 'db.operation.batch.size': 5 } },
    ]);
  });

  it('hold the SQLSTATE of an error and not its message', async () => {
    const error = Object.assign(new DatabaseError('Key (email)=(ada@x) exists', 1, 'error'), { code: '23505' });

    const failed = spans.run(spans.startRoot('request', {}), () => pipeline(['insert'], () => Promise.reject(error)));
    await expect(failed).rejects.toBe(error);

    expect(named('insert')).toMatchObject([
      { isError: true, attributes: { 'error.type': '23505', 'db.response.status_code': '23505' } },
    ]);
    expect(JSON.stringify(named('insert'))).not.toContain('ada@x');
  });

  it('limit the summary of a long pipeline', async () => {
    const statements = Array.from({ length: 30 }, (_, index) => `statement_${index}_x`);

    await spans.run(spans.startRoot('request', {}), () => pipeline(statements));

    const [{ name } = { name: '' }] = ended().filter((span) => span.attributes['db.operation.batch.size'] === 30);
    expect(name.length).toBeLessThanOrEqual(255);
    expect(name).toMatch(/ statement_\d+_x$/);
  });

  describe('of a batch of calls', () => {
    const calls = new BatchedCalls(async (items: readonly string[]) => {
      await pipeline([items.join('+')]);
      return items;
    });

    it('belong to the caller of a single call, whose span does not end with the batch', async () => {
      const [first, second] = [spans.startRoot('first', {}), spans.startRoot('second', {})];

      // The second call begins while the first batch runs, so it is the next batch of that run.
      const one = spans.run(first, () => calls.call('one'));
      await new Promise(setImmediate);
      const two = spans.run(second, () => calls.call('two'));
      await Promise.all([one, two]);

      expect(named('one')).toMatchObject([{ parentId: first.spanContext().spanId }]);
      expect(named('two')).toMatchObject([{ parentId: second.spanContext().spanId }]);
      expect([first.isRecording(), second.isRecording()]).toEqual([true, true]);
    });

    it('have a trace of their own with links to several callers, and links back', async () => {
      const callers = ['three', 'four'].map((name) => spans.startRoot(name, {}));

      await Promise.all(callers.map((caller, index) => spans.run(caller, () => calls.call(`call ${index}`))));
      callers.forEach((caller) => caller.end());

      const [batch] = named('batch of calls');
      expect(batch).toMatchObject({
        parentId: undefined,
        links: callers.map((caller) => caller.spanContext().spanId),
        attributes: { 'banking.batch.size': 2 },
      });
      expect(named('call 0+call 1')).toMatchObject([{ parentId: batch?.spanId }]);
      expect([...named('three'), ...named('four')].map(({ links }) => links)).toEqual([
        [batch?.spanId],
        [batch?.spanId],
      ]);
    });

    it('are not made for callers that are not recorded', async () => {
      const before = ended().length;
      const unrecorded = recordedSpans('always_off').spans.startRoot('off', {});

      await Promise.all(['five', 'six'].map((item) => spans.run(unrecorded, () => calls.call(item))));

      expect(ended()).toHaveLength(before);
    });
  });
});
