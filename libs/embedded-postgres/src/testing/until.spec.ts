import { until } from './until.js';

describe('until', () => {
  afterEach(() => jest.restoreAllMocks());

  it('returns the first value that is as expected', async () => {
    let value = 0;

    expect(
      await until(
        () => Promise.resolve((value += 1)),
        (found) => found > 2,
      ),
    ).toBe(3);
    expect(await until(() => (value += 1) > 5)).toBe(true);
    expect(value).toBe(6);
  });

  it('ends with the condition and the last value after its limit', async () => {
    const now = jest
      .spyOn(performance, 'now')
      .mockReturnValueOnce(0)
      .mockReturnValueOnce(90_000)
      .mockReturnValue(90_001);
    const read = () => ({ status: 'pending' });

    await expect(until(read, ({ status }) => status === 'completed')).rejects.toThrow(
      /^not within 90000 ms: .*status === 'completed'. The last value was \{ status: 'pending' \}\.$/s,
    );
    expect(now).toHaveBeenCalledTimes(3);
  });

  it('ends with the error of a read', async () => {
    await expect(until(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  });
});
