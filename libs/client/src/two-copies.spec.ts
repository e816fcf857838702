import { BankingError, Refusal } from '@banking/domain';
import { ConnectionError, RemoteRefusal, ServiceError } from './index.js';

describe('two copies of the library in one process', () => {
  const own = {
    RemoteRefusal: () => new RemoteRefusal('transfer_not_found', undefined, {}),
    ServiceError: () => new ServiceError('It answered 502.', { status: 502, body: '' }),
    ConnectionError: () =>
      new ConnectionError('It did not answer.', { cause: undefined, timedOut: true, neverSent: false }),
  };
  const kinds = { RemoteRefusal, ServiceError, ConnectionError };

  it.each(Object.keys(own) as (keyof typeof own)[])('recognise a %s of each other', async (name) => {
    await jest.isolateModulesAsync(async () => {
      const other = await import('./errors.js');

      expect(other[name]).not.toBe(kinds[name]);
      expect(own[name]()).toBeInstanceOf(other[name]);
      expect(own[name]()).toBeInstanceOf((await import('@banking/domain')).BankingError);
      expect(own[name]() instanceof Refusal).toBe(name === 'RemoteRefusal');
    });
  });

  it('do not recognise errors of another kind', () => {
    const matches = Object.values(own).map((make) => Object.values(kinds).map((kind) => make() instanceof kind));

    expect(matches).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ]);
    expect(new Refusal('transfer_not_found') instanceof RemoteRefusal).toBe(false);
    for (const value of [undefined, null, 'no', new Error('no'), {}]) expect(value instanceof BankingError).toBe(false);
  });

  it('check a subclass of the caller by its prototype', () => {
    class Timeout extends ConnectionError {}

    expect(own.ConnectionError() instanceof Timeout).toBe(false);
    expect(new Timeout('', { cause: undefined, timedOut: true, neverSent: false })).toBeInstanceOf(ConnectionError);
  });
});
