import { Logger, type ArgumentsHost } from '@nestjs/common';
import { RefusalFilter } from './refusal.filter.js';

/** A request whose answer has been sent, so that the filter only logs. */
function hostOf(request: object): ArgumentsHost {
  const http = { getRequest: () => request, getResponse: () => ({ sent: true }) };
  return { switchToHttp: () => http } as unknown as ArgumentsHost;
}

describe('Given an error of the connection', () => {
  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['ECONNRESET', false, 0],
    ['HPE_INVALID_CHUNK_SIZE', false, 0],
    ['ECONNRESET', true, 1],
    ['ENOENT', false, 1],
  ])(
    'When it is %s and the body has arrived is %p, Then it is logged as an error %i times',
    (code, complete, times) => {
      const log = jest.spyOn(Logger.prototype, 'error').mockImplementation();
      const request = { id: 'r', url: '/quotes', raw: { complete } };

      new RefusalFilter().catch(Object.assign(new Error('aborted'), { code }), hostOf(request));

      expect(log).toHaveBeenCalledTimes(times);
    },
  );
});
