import { Agent, request } from 'undici';
import { recordResponse, requireSameResponse } from './response.js';
import { startProxy } from './control.js';
import { growing } from './growth.js';
import { httpLoad, type LoadRun, callConcurrently } from './load.js';
import { compareAll, type Effort, type ComparisonPlan, type Result, resultOf } from './request.js';
import { type BenchTarget, startService, tokenOf } from './service.js';
import { heldBy } from './watched-child.js';
import { inWorkshop, makeWorld } from './world.js';

export interface GatewayOptions extends Effort {
  /** How many requests its memory is watched over. */
  readonly requests: number;
}

const THROUGHPUT_AIM = 0.75;
const GROWTH_AIM_MB = 1;

/** The gateway user of the demo data, for the credential at the upstream. */
const GATEWAY = 'gateway@northwind.example';

/** Measures what a gateway costs between its callers and its upstream, and whether it keeps anything of a request. */
export function benchGateway(options: GatewayOptions): Promise<Result> {
  return inWorkshop(async ({ folder, runs }) => {
    const { connections, requests, onProgress } = options;
    const { dataDir, service: upstream, demoTransfers } = await makeWorld(folder('gateway'), 0, onProgress);
    runs(upstream);
    const paths = demoTransfers.map((id) => `/transfers/${id}`);
    const token = await tokenOf(dataDir, GATEWAY);
    const settings = { UPSTREAM_URL: upstream.url, UPSTREAM_TOKEN: token };
    const gateway = runs(await startService(dataDir, { settings, name: 'gateway', isWatched: true }));
    const control = runs(await controlOf({ gateway, upstream, token, path: paths[0] ?? '' }));
    for (const path of paths) await requireSameResponse(path, gateway, control);

    const agent = new Agent({ connections });
    runs({ stop: () => agent.close() });
    const reading = (answering: BenchTarget, together: number) => readingBy(agent, answering, paths, together);
    const result = resultOf(await compareAll(questionsTo(gateway, control, paths, reading, connections), options));

    onProgress(`${requests} requests of the gateway`);
    const marks = await growing(
      requests,
      (times) => askTimes(times, connections, readerOf(agent, gateway, paths)),
      () => heldBy(gateway.child),
    );
    const growth = { name: `Memory of a gateway that is asked ${requests} times`, marks, aimMb: GROWTH_AIM_MB };
    return { ...result, growths: [growth] };
  });
}

function questionsTo(
  gateway: BenchTarget,
  control: BenchTarget,
  paths: readonly string[],
  reading: (answering: BenchTarget, together: number) => LoadRun,
  connections: number,
): ComparisonPlan[] {
  const requests = paths.map((path) => ({ path }));
  const loading = (answering: BenchTarget) => httpLoad({ answering, connections, requests, expects: 200 });
  const name = 'GET /transfers/{transferId} by a gateway';
  const asked = { control: 'bare Fastify and undici, the same upstream' };
  return [
    {
      ...asked,
      name: `${name}, ${connections} at once`,
      aim: THROUGHPUT_AIM,
      sides: { ours: loading(gateway), control: loading(control) },
    },
    ...[1, connections].map((together): ComparisonPlan => ({
      ...asked,
      name: `${name}, ${together} at once, time added`,
      compares: 'addedMs',
      sides: { ours: reading(gateway, together), control: reading(control, together) },
    })),
  ];
}

/** Shows the upstream what the gateway shows it, and its callers the headers the gateway shows them. */
async function controlOf({
  gateway,
  upstream,
  token,
  path,
}: Readonly<Record<'gateway' | 'upstream', BenchTarget> & Record<'token' | 'path', string>>): Promise<BenchTarget> {
  const { headers: answerHeaders } = await recordResponse(gateway, path);
  const headers = { ...upstream.headers, Accept: 'application/json', Authorization: `Bearer ${token}` };
  return startProxy({ upstream: upstream.url, headers, answerHeaders });
}

type Reader = (turn: number) => Promise<void>;

function readerOf(agent: Agent, { url, headers }: BenchTarget, paths: readonly string[]): Reader {
  return async (turn) => {
    const { statusCode, body } = await request(`${url}${paths[turn % paths.length]}`, { dispatcher: agent, headers });
    await body.dump();
    if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
  };
}

/** By a clock finer than that of a load generator: what is added is less than a millisecond. */
function readingBy(agent: Agent, answering: BenchTarget, paths: readonly string[], together: number): LoadRun {
  const read = readerOf(agent, answering, paths);
  return async (seconds) => {
    let turn = 0;
    const { perSecond, p50Ms, p99Ms } = await callConcurrently(together, seconds, () => read((turn += 1)));
    return { perSecond, p50Ms, p99Ms };
  };
}

async function askTimes(times: number, together: number, read: Reader): Promise<void> {
  let left = times;
  const askAgain = async () => {
    while (left > 0) await read((left -= 1));
  };
  await Promise.all(Array.from({ length: together }, askAgain));
}
