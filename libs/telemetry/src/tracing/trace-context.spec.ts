import { headersOf, remoteSpanOf } from './request-spans.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('the trace context of a request', () => {
  it('is read and written again with its state', () => {
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'a=1, b=2' };

    const span = remoteSpanOf(headers);

    expect(span).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true });
    expect(headersOf(span!)).toEqual({ traceparent: headers.traceparent, tracestate: 'a=1,b=2' });
  });

  it('is read without a state', () => {
    const span = remoteSpanOf({ traceparent: `00-${TRACE}-${SPAN}-00` });

    expect(headersOf(span!)).toEqual({ traceparent: `00-${TRACE}-${SPAN}-00` });
  });

  it('takes the parts that it knows from a later version, and the sampled flag alone', () => {
    const span = remoteSpanOf({ traceparent: `cc-${TRACE}-${SPAN}-ff-what-the-future-adds` });

    expect(headersOf(span!)).toEqual({ traceparent: `00-${TRACE}-${SPAN}-01` });
  });

  it.each([
    ['no header', undefined],
    ['an empty one', ''],
    ['version ff', `ff-${TRACE}-${SPAN}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['more parts in version 00', `00-${TRACE}-${SPAN}-01-x`],
    ['a short id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['white space', ` 00-${TRACE}-${SPAN}-01`],
    ['a header that was sent twice', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ])('ignores %s', (_, traceparent) => {
    expect(remoteSpanOf({ traceparent, tracestate: 'a=1' })).toBeUndefined();
  });

  const members = (count: number) => Array.from({ length: count }, (_, index) => `k${index}=v`).join();

  it.each([
    ['keeps 32 members', members(32), members(32)],
    ['drops more', members(33), undefined],
    ['drops more than 512 characters', `a=${'x'.repeat(255)},b=${'x'.repeat(255)}`, undefined],
    ['leaves out malformed members', '=1,a b=2,ok=3,B=4,last=5', 'ok=3,last=5'],
    ['is absent if none is left', 'malformed', undefined],
  ])('%s of a state', (_, tracestate, sent) => {
    const span = remoteSpanOf({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate });

    expect(headersOf(span!).tracestate).toBe(sent);
  });
});
