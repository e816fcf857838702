import { Logger, type ArgumentsHost } from '@nestjs/common';
import { RefusalFilter } from './refusal.filter.js';

/** A request whose response has been sent, so that the filter only logs. */
function hostOf(request: object): ArgumentsHost {
  const http = { getRequest: () => request, getResponse: () => ({ sent: true }) };
  return { switchToHttp: () => http } as unknown as ArgumentsHost;
}

describe('RefusalFilter', () => {
  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['ECONNRESET', false, 0],
    ['HPE_INVALID_CHUNK_SIZE', false, 0],
    ['ECONNRESET', true, 1],
    ['ENOENT', false, 1],
  ])('logs the connection error %s with a complete body %p as unhandled %i times', (code, complete, times) => {
    const log = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const request = { id: 'r', url: '/quotes', raw: { complete } };

    new RefusalFilter().catch(Object.assign(new Error('aborted'), { code }), hostOf(request));

    expect(log).toHaveBeenCalledTimes(times);
  });
});
