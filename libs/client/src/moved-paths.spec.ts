import { BankingClient, RemoteRefusal, ServiceError } from './index.js';
import {
  NOT_TIMEOUTS,
  responds,
  refuses,
  type ScriptedService,
  scriptedService,
  type Step,
} from './testing/scripted-service.js';

/** A 404 with the published fields alone: it does not state whether the path or the record is missing. */
const PLAIN_404 = responds(404, { errorCode: 'invalid_request', message: 'Request parameters are invalid.' });
const HTML_404: Step = (response) => response.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>Not found</h1>');
const HTML_200: Step = (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>Welcome</h1>');
const UNKNOWN_PATH = refuses(404, 'route_not_found');
const LIST = responds(200, []);

const QUERY = { countryCode: 'DE', currencyCode: 'EUR', payoutMethod: 'LOCAL' } as const;
const CORRIDORS = ['/recipients/countries/DE/corridors', '/countries/DE/corridors'] as const;
const SCHEMAS = ['/recipients/validation-schema', '/validation-schema'] as const;

let service: ScriptedService;
let client: BankingClient;
beforeEach(async () => {
  service = await scriptedService();
  client = new BankingClient({ baseUrl: service.url, token: 'token', retries: 0 });
});
afterEach(() => service.close());

const paths = () => service.received.map(({ url }) => url.split('?', 1)[0]);
const corridors = () => client.corridors.list('DE');
const schemas = () => client.recipientSchemas.list(QUERY);
/** Responds by path: the step at the current path, and at the former one. */
const deploys = (current: Step, former: Step) =>
  service.script((response, request) => (request.url.startsWith('/recipients/') ? current : former)(response, request));

describe.each([
  ['corridors', CORRIDORS, corridors],
  ['schemas', SCHEMAS, schemas],
])('deployment of the former revision, for %s', (_, [current, former], list) => {
  it.each([
    ['without a reason', PLAIN_404],
    ['in HTML', HTML_404],
    ['with the reason route_not_found', UNKNOWN_PATH],
    ['with a reason this version does not know', refuses(404, 'no_such_path')],
  ])('uses the former path after a 404 %s of the current one', async (_what, missing) => {
    deploys(missing, LIST);

    expect(await list()).toEqual([]);
    expect(await list()).toEqual([]);
    expect(paths()).toEqual([current, former, former]);
  });

  it('uses the current path again after an upgrade of the deployment', async () => {
    deploys(UNKNOWN_PATH, LIST);
    await list();
    deploys(LIST, UNKNOWN_PATH);

    for (let time = 0; time < 2; time += 1) expect(await list()).toEqual([]);
    expect(paths().slice(2)).toEqual([former, current, current]);
  });

  it('keeps the query and the headers', async () => {
    deploys(PLAIN_404, LIST);
    await list();

    const [first, second] = service.received;
    expect(second?.url.split('?')[1]).toBe(first?.url.split('?')[1]);
    expect(second?.headers).toEqual(first?.headers);
  });

  it('returns the first response if both paths are 404', async () => {
    deploys(UNKNOWN_PATH, refuses(404, 'country_unknown'));

    expect(await list().catch((error: unknown) => error)).toMatchObject({ status: 404, reason: 'route_not_found' });
    expect(paths()).toEqual([current, former]);
  });

  it.each([
    ['forbidden', responds(403, { errorCode: 'forbidden', message: 'No.' })],
    ['malformed', responds(400, { errorCode: 'invalid_request', message: 'No.' })],
    ['a page of a web server', HTML_200],
  ])('returns the first response if the former path is %s', async (_what, other) => {
    deploys(PLAIN_404, other);
    expect(await list().catch((error: unknown) => error)).toMatchObject({ status: 404 });
    deploys(LIST, other);
    await list();

    expect(paths()).toEqual([current, former, current]);
  });

  it.each([429, 500, 503])(
    'returns the response of the former path if it is %i, because it may have the list',
    async (status) => {
      deploys(PLAIN_404, responds(status, { errorCode: 'x', message: 'No.' }));

      expect(await list().catch((error: unknown) => error)).toBeInstanceOf(ServiceError);
      expect(await list().catch((error: unknown) => error)).toMatchObject({ status });
      expect(paths()).toEqual([current, former, current, former]);
    },
  );
});

describe('deployment of the current revision', () => {
  it.each([
    ['country_unknown', corridors, CORRIDORS],
    ['corridor_not_found', schemas, SCHEMAS],
  ])('sends no second request after a 404 with the reason %s', async (reason, list, [current]) => {
    deploys(refuses(404, reason), LIST);

    await expect(list()).rejects.toBeInstanceOf(RemoteRefusal);
    expect(paths()).toEqual([current]);
  });

  it('sends no second request after a 404 without a reason, if the current path is known', async () => {
    deploys(LIST, LIST);
    await corridors();
    deploys(PLAIN_404, LIST);

    await expect(corridors()).rejects.toMatchObject({ status: 404 });
    expect(paths()).toEqual([CORRIDORS[0], CORRIDORS[0]]);
  });

  it.each([400, 401, 403, 429, 500])('sends no second request after a %i', async (status) => {
    deploys(responds(status, { errorCode: 'x', message: 'No.' }), LIST);

    await expect(corridors()).rejects.toMatchObject({ status });
    expect(paths()).toEqual([CORRIDORS[0]]);
  });

  it('sends no second request for an operation without a former path', async () => {
    service.script(UNKNOWN_PATH, LIST);

    await expect(client.products.list()).rejects.toMatchObject({ status: 404 });
    expect(paths()).toEqual(['/products']);
  });
});

describe('former path and deadline', () => {
  afterEach(() => void jest.useRealTimers());

  it('share one deadline', async () => {
    jest.useFakeTimers({ doNotFake: NOT_TIMEOUTS });
    const after =
      (ms: number, step: Step): Step =>
      (...exchange) => {
        jest.advanceTimersByTime(ms);
        step(...exchange);
      };
    deploys(after(200, PLAIN_404), after(200, LIST));

    await expect(client.corridors.list('DE', { timeoutMs: 300 })).rejects.toMatchObject({ timedOut: true });
    expect(paths()).toEqual([...CORRIDORS]);
  });
});
