import { AsyncLocalStorage } from 'node:async_hooks';
import { upstreamChannel } from '../index.js';
import { recordedSpans } from '../testing/recorded-spans.js';
import { followUpstream } from './channel-spans.js';
import { RequestSpans } from './request-spans.js';
import type { ReceivedRequest } from './tracing.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const request: ReceivedRequest = { method: 'GET', route: '/transfers/:transferId', requestId: 'job-17', headers: {} };
const within = (flags: string) => ({ ...request, headers: { traceparent: `00-${TRACE}-${SPAN}-${flags}` } });

describe('the span of a request', () => {
  const { spans, ended } = recordedSpans();
  const requests = new RequestSpans(spans);
  beforeAll(() => followUpstream(spans));
  afterAll(() => spans.unfollow());
  const last = () => ended().at(-1);

  it('has the template of the route, the status and the workspace', () => {
    requests.start(request).end({ status: 200, workspaceId: 7 });

    expect(last()).toMatchObject({
      name: 'GET /transfers/:transferId',
      parentId: undefined,
      isError: false,
      attributes: { 'http.response.status_code': 200, 'banking.workspace.id': 7, 'banking.request.id': 'job-17' },
    });
  });

  it.each([
    [{ status: 422, refusal: 'quote_expired' }, false, { 'banking.refusal': 'quote_expired' }],
    [{ status: 503, refusal: 'unavailable' }, true, { 'error.type': '503' }],
    [{}, true, { 'error.type': 'client_disconnect' }],
  ])('is of %j an error: %s', (end, isError, attributes) => {
    requests.start(request).end(end);

    expect(last()).toMatchObject({ isError, attributes });
  });

  it('names no unknown method and no path', () => {
    requests.start({ ...request, method: 'PROPFIND', route: undefined }).end({ status: 405 });

    expect(last()).toMatchObject({ name: 'HTTP', attributes: { 'http.request.method': '_OTHER' } });
  });

  it('continues the trace of its caller, and is active in its work until it ends', async () => {
    const trace = requests.start(within('01'));

    const active = await trace.run(async () => {
      await new Promise(setImmediate);
      return spans.active?.spanContext().spanId;
    });
    const after = await trace.run(async () => {
      trace.end({ status: 200 });
      return spans.active;
    });

    expect(trace.traceId).toBe(TRACE);
    expect(active).toBe(trace.spanId);
    expect(after).toBeUndefined();
    expect(last()).toMatchObject({ parentId: SPAN });
  });

  it('gives an upstream the span of the call to it', async () => {
    const trace = requests.start(within('01'));
    let sent: string | undefined;

    await trace.run(() =>
      upstreamChannel.tracePromise(
        async () => {
          sent = requests.headersFor('job-17')?.traceparent;
          return { status: 502 };
        },
        { operation: 'getTransfer', method: 'GET', isOfCaller: true },
      ),
    );
    const call = last();
    trace.end({ status: 502 });

    expect(sent).toBe(`00-${TRACE}-${call?.spanId}-01`);
    expect(call).toMatchObject({ name: 'GET getTransfer', parentId: trace.spanId, isError: true });
  });

  it('is not active if it is not recorded, and its trace is passed on until it ends', () => {
    const before = ended().length;
    const trace = requests.start(within('00'));

    const active = trace.run(() => spans.active);
    const headers = requests.headersFor('job-17');
    trace.end({ status: 200 });

    expect(active).toBeUndefined();
    expect(headers).toEqual({ traceparent: `00-${TRACE}-${trace.spanId}-00` });
    expect([requests.headersFor('job-17'), requests.headersFor(undefined)]).toEqual([undefined, undefined]);
    expect(ended()).toHaveLength(before);
  });

  it('does not run within the recorded request before it on one connection', async () => {
    const recorded = requests.start(within('01'));

    const active = await recorded.run(async () => requests.start(within('00')).run(() => spans.active));
    recorded.end({ status: 200 });

    expect(active).toBeUndefined();
  });

  it('disables the storage of the active span when the last recorded request has ended', () => {
    const disable = jest.spyOn(AsyncLocalStorage.prototype, 'disable');
    const [first, second, unrecorded] = [within('01'), within('01'), within('00')].map((one) => requests.start(one));

    first?.end({ status: 200 });
    unrecorded?.end({ status: 200 });
    expect(disable).not.toHaveBeenCalled();
    second?.end({ status: 200 });

    expect(disable).toHaveBeenCalledTimes(1);
    disable.mockRestore();
  });
});
