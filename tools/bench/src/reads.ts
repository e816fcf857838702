import { isDeepStrictEqual } from 'node:util';
import { BankingClient } from '@banking/client';
import { Agent, request } from 'undici';
import { compare, compareAll, type Effort, type Figure } from './compare.js';
import { callConcurrently, type LoadRun, reading } from './load.js';
import { type BenchTarget, startControl, startService, tokenOf } from './service.js';
import { bodyOf, inWorkshop, makeBooks } from './world.js';

const REFERENCE = ['/products', '/recipients/countries/IN/corridors', '/recipients/countries/DE/corridors'];
const OWN_STATEMENT = 'bare Fastify with a statement of its own';

/** Reads transfers and reference data. */
export function benchReads(options: Effort & { readonly transfers: number }): Promise<Figure[]> {
  const { connections, transfers, onProgress } = options;
  return inWorkshop(async (folder, runs) => {
    const dataDir = folder('reads');
    const paths = await makeBooks(dataDir, transfers, onProgress);
    const service = runs(await startService(dataDir));
    const bodies = await Promise.all(REFERENCE.map(async (path) => [path, await bodyOf(service, path)] as const));
    const control = runs(await startControl({ dataDir, recorded: Object.fromEntries(bodies) }));
    const sides = (of: readonly string[]) => ({
      ours: reading(service, connections, of),
      theirs: reading(control, connections, of),
    });
    return compareAll(
      [
        { name: 'GET /transfers/{transferId}', control: OWN_STATEMENT, aim: 0.75, ...sides(paths) },
        ...REFERENCE.map((path) => ({
          ...{ name: `GET ${path}`, control: 'bare Fastify, bytes from memory', aim: 0.5 },
          ...sides([path]),
        })),
      ],
      options,
    );
  });
}

/** Items on a page, the default of the interface, and the most a page may hold. */
const PAGE = 100;
const PAGE_MAX = 500;

const pathOf = (limit: number) => `/transfers?limit=${limit}`;

/** Reads a late page of a long list and first pages. */
export function benchLists(options: Effort & { readonly transfers: number; readonly page: number }): Promise<Figure[]> {
  const { connections, transfers, page, onProgress } = options;
  return inWorkshop(async (folder, runs) => {
    const dataDir = folder('lists');
    await makeBooks(dataDir, transfers, onProgress);
    const service = runs(await startService(dataDir));
    const control = runs(await startControl({ dataDir }));
    onProgress(`Walking to page ${page}`);
    const late = await pageBehind(service, (page - 1) * PAGE);
    const deep = {
      name: `GET /transfers, page ${page} of ${transfers} transfers`,
      control: 'the service, page 1',
      aim: 0.9,
      ours: reading(service, connections, [late]),
      theirs: reading(service, connections, [pathOf(PAGE)]),
    };
    const first = [25, PAGE].map((limit) => ({
      ...{ name: `GET ${pathOf(limit)}`, control: OWN_STATEMENT, aim: 0.7 },
      ours: reading(service, connections, [pathOf(limit)]),
      theirs: reading(control, connections, [pathOf(limit)]),
    }));
    return compareAll([deep, ...first], options);
  });
}

/** The path of the page that begins behind so many items. @throws Error when the list ends before */
async function pageBehind({ url, headers }: BenchTarget, items: number): Promise<string> {
  let path = pathOf(PAGE);
  for (let left = items; left > 0;) {
    const stride = Math.min(PAGE_MAX, left);
    const response = await fetch(`${url}${path.replace(/limit=\d+/, `limit=${stride}`)}`, { headers });
    await response.arrayBuffer();
    const next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    if (next === undefined) throw new Error(`the list ends ${left} items before that page`);
    path = next;
    left -= stride;
  }
  return path.replace(/limit=\d+/, `limit=${PAGE}`);
}

/** Transfers that clients and gateways read. */
const FEW = 100;
/** The gateway user of the demo data, for the credential at the upstream. */
const GATEWAY = 'gateway@northwind.example';

/** Reads transfers through a gateway. */
export function benchGateway(options: Effort): Promise<Figure[]> {
  const { connections, onProgress } = options;
  return inWorkshop(async (folder, runs) => {
    const dataDir = folder('gateway');
    const paths = await makeBooks(dataDir, FEW, onProgress);
    const upstream = runs(await startService(dataDir));
    const token = await tokenOf(dataDir, GATEWAY);
    const settings = { UPSTREAM_URL: upstream.url, UPSTREAM_TOKEN: token };
    const gateway = runs(await startService(dataDir, { settings }));
    const headers = { ...upstream.headers, Accept: 'application/json', Authorization: `Bearer ${token}` };
    const control = runs(await startControl({ upstream: { url: upstream.url, headers } }));
    for (const path of paths) {
      if ((await bodyOf(gateway, path)) !== (await bodyOf(control, path))) throw new Error(`${path} differs`);
    }
    const agent = new Agent({ connections });
    runs({ stop: () => agent.close() });
    // By a clock finer than that of a load generator: what is added is less than a millisecond.
    const timing = ({ url, headers: own }: BenchTarget, callers: number): LoadRun => {
      let turn = 0;
      const read = async () => {
        const path = paths[(turn += 1) % paths.length];
        const { statusCode, body } = await request(`${url}${path}`, { dispatcher: agent, headers: own });
        await body.dump();
        if (statusCode !== 200) throw new Error(`${url} responded with ${statusCode}`);
      };
      return (seconds) => callConcurrently(callers, seconds, read);
    };
    const common = { control: 'bare Fastify and undici, the same upstream' };
    const name = 'GET /transfers/{transferId} by a gateway';
    return compareAll(
      [
        {
          ...{ ...common, name: `${name}, ${connections} at once`, aim: 0.75 },
          ours: reading(gateway, connections, paths),
          theirs: reading(control, connections, paths),
        },
        ...[1, connections].map((callers) => ({
          ...{ ...common, name: `${name}, ${callers} at once, time added`, of: 'latency' as const },
          ours: timing(gateway, callers),
          theirs: timing(control, callers),
        })),
      ],
      options,
    );
  });
}

/** Calls the client of the interface. */
export function benchClient(options: Effort): Promise<Figure[]> {
  const { connections, onProgress } = options;
  return inWorkshop(async (folder, runs) => {
    const dataDir = folder('client');
    const paths = await makeBooks(dataDir, FEW, onProgress);
    const service = await startService(dataDir);
    const bodies = await Promise.all(paths.map(async (path) => [path, await bodyOf(service, path)] as const));
    // The service would take longer for a response than the client for its request, and hide what the client costs.
    await service.stop();
    const { url } = runs(await startControl({ recorded: Object.fromEntries(bodies) }));
    const token = await tokenOf(dataDir, 'ada@northwind.example');
    const { transfers } = new BankingClient({ baseUrl: url, token }).workspace(1);
    const headers = { Accept: 'application/json', ...service.headers };
    const byClient = (path: string): Promise<unknown> => transfers.get(Number(path.split('/').at(-1)));
    const byFetch = async (path: string): Promise<unknown> => (await fetch(`${url}${path}`, { headers })).json();
    for (const path of paths) {
      const isSame = isDeepStrictEqual(await byClient(path), await byFetch(path));
      if (!isSame) throw new Error(`the client reads ${path} as something else`);
    }
    let turn = 0;
    const inTurn =
      (get: (path: string) => Promise<unknown>): LoadRun =>
      (seconds) =>
        callConcurrently(connections, seconds, () => get(paths[(turn += 1) % paths.length]!));
    const figure = await compare(
      {
        name: `client.workspace(1).transfers.get(id), ${connections} at once`,
        control: 'fetch of the same URL, and response.json()',
        ...{ aim: 0.85, ours: inTurn(byClient), theirs: inTurn(byFetch) },
      },
      options,
    );
    return [figure];
  });
}
