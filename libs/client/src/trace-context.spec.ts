import { BankingClient, type BankingClientOptions, type TraceContext } from './index.js';
import { dies, responds, type ScriptedService, scriptedService } from './testing/scripted-service.js';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('client with a trace context', () => {
  let service: ScriptedService;
  beforeEach(async () => {
    service = await scriptedService();
  });
  afterEach(() => service.close());

  const clientWith = (options: Partial<BankingClientOptions>) =>
    new BankingClient({ baseUrl: service.url, token: 'token', ...options });
  const sent = () => service.received.map(({ headers }) => [headers['traceparent'], headers['tracestate']]);

  it('sends it with each attempt, as it is at that attempt', async () => {
    const spans = ['aaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbb'];
    const next = () => `00-0af7651916cd43dd8448eb211c80319c-${spans.shift()}-01`;
    service.script(dies, responds(200, []));

    await clientWith({ traceContext: () => ({ traceparent: next(), tracestate: 'a=1,b=2' }) }).apps.list();

    expect(sent()).toEqual([
      ['00-0af7651916cd43dd8448eb211c80319c-aaaaaaaaaaaaaaaa-01', 'a=1,b=2'],
      ['00-0af7651916cd43dd8448eb211c80319c-bbbbbbbbbbbbbbbb-01', 'a=1,b=2'],
    ]);
  });

  it('reads it after the hook before the attempt, which may begin a span', async () => {
    let context: TraceContext | undefined;
    const hooks = { before: () => void (context = { traceparent: TRACEPARENT }) };

    await clientWith({ hooks, traceContext: () => context }).apps.list();

    expect(sent()).toEqual([[TRACEPARENT, undefined]]);
  });

  it.each<[string, TraceContext | undefined]>([
    ['none', undefined],
    ['an empty one', { traceparent: '' }],
    ['a line feed', { traceparent: `${TRACEPARENT}\n` }],
    ['another form', { traceparent: '0af7651916cd43dd8448eb211c80319c' }],
    ['upper case', { traceparent: TRACEPARENT.toUpperCase() }],
    ['a value without a type', { traceparent: 7 } as unknown as TraceContext],
  ])('sends no header for %s', async (_, context) => {
    await clientWith({ traceContext: () => context }).apps.list();

    expect(sent()).toEqual([[undefined, undefined]]);
  });

  it('leaves out a state that no header can carry', async () => {
    await clientWith({ traceContext: () => ({ traceparent: TRACEPARENT, tracestate: 'a=\r\nX: y' }) }).apps.list();

    expect(sent()).toEqual([[TRACEPARENT, undefined]]);
  });

  it('carries out the call if its source throws, and the platform gets the error', async () => {
    const thrown: unknown[] = [];
    const later = jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((task) => {
      try {
        task();
      } catch (error) {
        thrown.push(error);
      }
    });
    const failure = new Error('no tracer');

    await clientWith({
      traceContext: () => {
        throw failure;
      },
    }).apps.list();
    later.mockRestore();

    expect(thrown).toEqual([failure]);
    expect(sent()).toEqual([[undefined, undefined]]);
  });
});
