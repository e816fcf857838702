import { type Attempt, type AttemptEnd, BankingClient, type BankingClientOptions, type Credential } from './index.js';
import { responds, dies, refuses, type ScriptedService, scriptedService } from './testing/scripted-service.js';

let service: ScriptedService;
beforeEach(async () => {
  service = await scriptedService();
});
afterEach(() => service.close());

const clientWith = (options: Partial<BankingClientOptions> = {}) =>
  new BankingClient({ baseUrl: service.url, token: 'token', ...options });
const fund = (client: BankingClient) => client.workspace(7).sandbox.fund({ accountId: 1, amount: '5' });

describe('hooks', () => {
  it('are called before and after each attempt, and for the retry', async () => {
    const seen: string[] = [];
    const note = (what: string) => (event: Attempt) => seen.push(`${what} ${event.operation} ${event.attempt}`);
    service.script(dies, responds(201, { id: 1 }));

    await fund(clientWith({ hooks: { before: note('before'), after: note('after'), retry: note('retry') } }));

    expect(seen).toEqual([
      'before fundAccount 1',
      'after fundAccount 1',
      'retry fundAccount 2',
      'before fundAccount 2',
      'after fundAccount 2',
    ]);
  });

  it('get the fields of a log and a metric, without the query', async () => {
    const ends: AttemptEnd[] = [];
    service.script(dies, responds(200, [], { 'X-Request-Id': 'r-9' }));
    const hooks = { after: (end: AttemptEnd) => ends.push(end) };

    await clientWith({ hooks }).workspace(7).accounts.listPage({ limit: 3 });

    const call = { operation: 'listAccounts', method: 'GET', path: '/accounts', workspaceId: 7 };
    expect(ends).toMatchObject([
      { ...call, attempt: 1, error: { name: 'ConnectionError' } },
      { ...call, attempt: 2, status: 200, requestId: 'r-9' },
    ]);
    expect(ends.every(({ durationMs }) => durationMs >= 0)).toBe(true);
  });

  it('do not end the call when they throw, and the platform gets the error', async () => {
    const thrown: unknown[] = [];
    const later = jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((task) => {
      try {
        task();
      } catch (error) {
        thrown.push(error);
      }
    });
    service.script(responds(201, { id: 1 }));
    const broken = new Error('the metrics are full');

    expect(await fund(clientWith({ hooks: { after: throwing(broken) } }))).toMatchObject({ resource: { id: 1 } });

    later.mockRestore();
    expect(thrown).toEqual([broken]);
  });
});

function throwing(error: Error): () => never {
  return () => {
    throw error;
  };
}

describe('credential', () => {
  it('is read again after a 401, if it is a function', async () => {
    let calls = 0;
    service.script(refuses(401, 'not_authenticated'), responds(201, { id: 1 }));

    await fund(clientWith({ token: () => `token-${++calls}` }));

    expect(service.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
    expect(new Set(service.received.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  });

  it.each([
    ['fixed', 'token'],
    ['the same again', () => 'token'],
  ])('leaves the 401 as the result, if it is %s', async (_, token) => {
    service.script(refuses(401, 'not_authenticated'));

    await expect(fund(clientWith({ token }))).rejects.toMatchObject({ reason: 'not_authenticated' });
    expect(service.received).toHaveLength(1);
  });

  it('is not read a third time after two 401', async () => {
    let calls = 0;
    service.script(refuses(401, 'not_authenticated'));

    await expect(fund(clientWith({ token: () => `token-${++calls}` }))).rejects.toThrow();
    expect(service.received).toHaveLength(2);
  });

  it('receives the refused token, if it renews itself', async () => {
    const refused: string[] = [];
    const session: Credential = {
      token: () => Promise.resolve('old'),
      renewed: (token) => {
        refused.push(token);
        return Promise.resolve('new');
      },
    };
    service.script(refuses(401, 'not_authenticated'), responds(200, []));

    await clientWith({ token: session }).apps.list();

    expect(refused).toEqual(['old']);
    expect(service.received.at(-1)?.headers.authorization).toBe('Bearer new');
  });

  it('sends nothing without a token before the deadline', async () => {
    const error = await fund(
      clientWith({ token: () => new Promise<string>(() => {}), timeoutMs: 50, retries: 0 }),
    ).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ name: 'ConnectionError', timedOut: true, neverSent: true });
    expect(service.received).toEqual([]);
  });
});

describe('options of a call', () => {
  it('send the request id', async () => {
    await clientWith().apps.list({ requestId: 'job-17.step_2' });

    expect(service.received[0]?.headers['x-request-id']).toBe('job-17.step_2');
  });

  it.each(['', 'a b', 'a\r\nb', 'a'.repeat(129)])('refuse the request id %j before sending', async (requestId) => {
    await expect(clientWith().apps.list({ requestId })).rejects.toThrow(TypeError);
    expect(service.received).toEqual([]);
  });

  it('report the fault that `inspect` finds', async () => {
    service.script(responds(200, [{ id: 'one' }]));
    const inspect = ({ operation, value }: { operation: string; value: unknown }) =>
      operation === 'listApps' && Array.isArray(value) ? '/0/id must be integer' : undefined;

    await expect(clientWith({ inspect }).apps.list()).rejects.toThrow(
      'GET /apps answered 200, but /0/id must be integer.',
    );
  });

  it.each([{ id: 6 }, {}, { id: '5' }])(
    'refuse the account %j with another id than the requested one',
    async (other) => {
      service.script(responds(200, other));

      await expect(clientWith().workspace(7).accounts.get(5)).rejects.toThrow(
        'GET /accounts/5 answered 200, but it is of another id.',
      );
    },
  );
});
