import { type Attempt, type AttemptEnd, BankingClient, type BankingClientOptions, type Credential } from './index.js';
import { answers, dies, refuses, type ScriptedService, scriptedService } from './testing/scripted-service.js';

let service: ScriptedService;
beforeEach(async () => {
  service = await scriptedService();
});
afterEach(() => service.close());

const clientWith = (options: Partial<BankingClientOptions> = {}) =>
  new BankingClient({ baseUrl: service.url, token: 'token', ...options });
const fund = (client: BankingClient) =>
  client.workspace(7).sandbox.fund({ accountId: 1, amount: '5' } as Parameters<BankingClient['fundAccount']>[1]);

describe('Given hooks', () => {
  it('When a call takes two tries, Then each is seen before and after, and the pause between them', async () => {
    const seen: string[] = [];
    const note = (what: string) => (event: Attempt) => seen.push(`${what} ${event.operation} ${event.attempt}`);
    service.script(dies, answers(201, { id: 1 }));

    await fund(clientWith({ hooks: { before: note('before'), after: note('after'), retry: note('retry') } }));

    expect(seen).toEqual([
      'before fundAccount 1',
      'after fundAccount 1',
      'retry fundAccount 2',
      'before fundAccount 2',
      'after fundAccount 2',
    ]);
  });

  it('When a try ends, Then it is told what a log and a metric need, and nothing of a filter', async () => {
    const ends: AttemptEnd[] = [];
    service.script(dies, answers(200, [], { 'X-Request-Id': 'r-9' }));
    const hooks = { after: (end: AttemptEnd) => ends.push(end) };

    await clientWith({ hooks }).workspace(7).accounts.listPage({ limit: 3 });

    const call = { operation: 'listAccounts', method: 'GET', path: '/accounts', workspaceId: 7 };
    expect(ends).toMatchObject([
      { ...call, attempt: 1, error: { name: 'ConnectionError' } },
      { ...call, attempt: 2, status: 200, requestId: 'r-9' },
    ]);
    expect(ends.every(({ durationMs }) => durationMs >= 0)).toBe(true);
  });

  it('When a hook throws, Then the call goes on, and the platform hears of it', async () => {
    const thrown: unknown[] = [];
    const later = jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((task) => {
      try {
        task();
      } catch (error) {
        thrown.push(error);
      }
    });
    service.script(answers(201, { id: 1 }));
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

describe('Given a credential', () => {
  it('When the service refuses a token of a function, Then the function is asked once more', async () => {
    let asked = 0;
    service.script(refuses(401, 'not_authenticated'), answers(201, { id: 1 }));

    await fund(clientWith({ token: () => `token-${++asked}` }));

    expect(service.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
    expect(new Set(service.asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  });

  it.each([
    ['fixed', 'token'],
    ['the same again', () => 'token'],
  ])('When it is %s, Then a 401 is the answer', async (_, token) => {
    service.script(refuses(401, 'not_authenticated'));

    await expect(fund(clientWith({ token }))).rejects.toMatchObject({ reason: 'not_authenticated' });
    expect(service.asked).toHaveLength(1);
  });

  it('When the new token is refused too, Then there is no third', async () => {
    let asked = 0;
    service.script(refuses(401, 'not_authenticated'));

    await expect(fund(clientWith({ token: () => `token-${++asked}` }))).rejects.toThrow();
    expect(service.asked).toHaveLength(2);
  });

  it('When it renews itself, Then it is told which token was refused', async () => {
    const refused: string[] = [];
    const session: Credential = {
      token: () => Promise.resolve('old'),
      renewed: (token) => {
        refused.push(token);
        return Promise.resolve('new');
      },
    };
    service.script(refuses(401, 'not_authenticated'), answers(200, []));

    await clientWith({ token: session }).listApps();

    expect(refused).toEqual(['old']);
    expect(service.asked.at(-1)?.headers.authorization).toBe('Bearer new');
  });

  it('When no token comes in time, Then nothing is sent, and that is certain', async () => {
    const error = await fund(clientWith({ token: () => new Promise<string>(() => {}), timeoutMs: 50, retries: 0 })).catch((thrown: unknown) => thrown); // prettier-ignore

    expect(error).toMatchObject({ name: 'ConnectionError', timedOut: true, neverSent: true });
    expect(service.asked).toEqual([]);
  });
});

describe('Given what a call may bring along', () => {
  it('When it has a request id, Then the service is told', async () => {
    await clientWith().listApps({ requestId: 'job-17.step_2' });

    expect(service.asked[0]?.headers['x-request-id']).toBe('job-17.step_2');
  });

  it.each(['', 'a b', 'a\r\nb', 'a'.repeat(129)])('When its request id is %j, Then nothing is sent', async (requestId) => {
    await expect(clientWith().listApps({ requestId })).rejects.toThrow(TypeError);
    expect(service.asked).toEqual([]);
  }); // prettier-ignore

  it('When there is a signer, Then it sees what is sent, and signs every try anew', async () => {
    let signed = 0;
    service.script(dies, answers(201, { id: 1 }));
    const client = clientWith({
      signer: ({ method, url, headers, body }) => {
        expect([method, url.href]).toEqual(['POST', `${service.url}/sandbox/accounts/1/fundings`]);
        expect(headers).toMatchObject({ 'Workspace-ID': '7', 'Content-Type': 'application/json' });
        expect(headers).not.toHaveProperty('Authorization');
        return Promise.resolve({ 'X-Signed': `${new TextDecoder().decode(body)} ${++signed}` });
      },
    });

    await fund(client);

    expect(service.asked.map(({ headers }) => headers['x-signed'])).toEqual(['{"amount":"5"} 1', '{"amount":"5"} 2']);
  });

  it('When a signer gives what no header can carry, Then that is said, and nothing is sent', async () => {
    const signer = () => Promise.resolve({ 'X-Signed': 'two\nlines' });

    await expect(fund(clientWith({ signer }))).rejects.toMatchObject({ name: 'TypeError' });
    expect(service.asked).toEqual([]);
  });

  it('When an answer is not taken by who inspects it, Then the error says why', async () => {
    service.script(answers(200, [{ id: 'one' }]));
    const inspect = ({ operation, value }: { operation: string; value: unknown }) =>
      operation === 'listApps' && Array.isArray(value) ? '/0/id must be integer' : undefined;

    await expect(clientWith({ inspect }).listApps()).rejects.toThrow('GET /apps answered 200, but /0/id must be integer.');
  }); // prettier-ignore

  it.each([{ id: 6 }, {}, { id: '5' }])('When another account comes than was asked for, such as %j, Then it is not believed', async (other) => {
    service.script(answers(200, other));

    await expect(clientWith().workspace(7).accounts.get(5)).rejects.toThrow('GET /accounts/5 answered 200, but it is of another id.');
  }); // prettier-ignore
});
