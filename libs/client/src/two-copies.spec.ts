import { Refusal } from '@banking/domain';
import { ConnectionError, RemoteRefusal, ServiceError } from './index.js';

describe('Given two copies of the library in one process', () => {
  const own = {
    RemoteRefusal: () => new RemoteRefusal('transfer_not_found', undefined, {}),
    ServiceError: () => new ServiceError('It answered 502.', { status: 502, body: '' }),
    ConnectionError: () =>
      new ConnectionError('It did not answer.', { cause: undefined, timedOut: true, neverSent: false }),
  };
  const kinds = { RemoteRefusal, ServiceError, ConnectionError };

  it.each(Object.keys(own) as (keyof typeof own)[])('When one throws a %s, Then the other knows it', async (name) => {
    await jest.isolateModulesAsync(async () => {
      const other = await import('./errors.js');

      expect(other[name]).not.toBe(kinds[name]);
      expect(own[name]()).toBeInstanceOf(other[name]);
      expect(own[name]() instanceof Refusal).toBe(name === 'RemoteRefusal');
    });
  });

  it('When an error is of another kind, Then it is not taken for one', () => {
    const matches = Object.values(own).map((make) => Object.values(kinds).map((kind) => make() instanceof kind));

    expect(matches).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ]);
    expect(new Refusal('transfer_not_found') instanceof RemoteRefusal).toBe(false);
  });

  it('When a caller has a kind of their own, Then it asks for itself', () => {
    class Timeout extends ConnectionError {}

    expect(own.ConnectionError() instanceof Timeout).toBe(false);
    expect(new Timeout('', { cause: undefined, timedOut: true, neverSent: false })).toBeInstanceOf(ConnectionError);
  });
});
