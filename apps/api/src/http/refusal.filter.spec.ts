import { Logger, type ArgumentsHost } from '@nestjs/common';
import { ApprovalPending, Refusal } from '@banking/domain';
import { RefusalFilter } from './refusal.filter.js';

/** By default the response has been sent, so that the filter only logs. */
function hostOf(request: object, reply: object = { sent: true }): ArgumentsHost {
  const http = { getRequest: () => request, getResponse: () => reply };
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

  it.each([
    ['a refusal', new Refusal('rate_limited'), false, ['rate_limited']],
    ['no refusal after the response', new Refusal('rate_limited'), true, []],
    ['no operation that waits for approvals', new ApprovalPending({} as never), false, []],
  ])('has %s noted', (_, thrown, isSent, expected) => {
    const noted: unknown[] = [];
    const sent: unknown[] = [];
    const send = (body: unknown) => sent.push(body);
    const reply = {
      sent: isSent,
      hasHeader: () => true,
      header: () => reply,
      code: () => reply,
      type: () => reply,
      send,
    };
    const host = hostOf({ id: 'r', headers: {}, raw: {} }, reply);

    new RefusalFilter(undefined, ({ reason }) => noted.push(reason)).catch(thrown, host);

    expect(noted).toEqual(expected);
    expect(sent).toHaveLength(isSent ? 0 : 1);
  });
});
