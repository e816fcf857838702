import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BankingClient } from '@banking/client';
import { recordResponse } from './response.js';
import { startRecorded } from './control.js';
import { type Growth, growing } from './growth.js';
import { callConcurrently } from './load.js';
import { compareAll, type Effort, type ComparisonPlan, type Result, resultOf } from './request.js';
import { heldBy, told, WATCHED } from './watched-child.js';
import { inWorkshop, makeWorld } from './world.js';

export interface ClientOptions extends Effort {
  /** How many calls its memory is watched over. */
  readonly calls: number;
}

/** What the process that is watched calls, and how. */
export interface CallerOptions {
  readonly url: string;
  readonly token: string;
  readonly workspaceId: number;
  readonly ids: readonly number[];
  readonly together: number;
}

const THROUGHPUT_AIM = 0.85;
const GROWTH_AIM_MB = 1;

/** Measures what a call of the client costs its caller, and whether the client keeps anything of it. */
export function benchClient(options: ClientOptions): Promise<Result> {
  return inWorkshop(async ({ folder, runs }) => {
    const { onProgress, connections, calls } = options;
    const { service, demoTransfers: ids } = await makeWorld(folder('client'), 0, onProgress);
    runs(service);
    const paths = ids.map((id) => `/transfers/${id}`);
    const answers = Object.fromEntries(
      await Promise.all(paths.map(async (path) => [path, await recordResponse(service, path)] as const)),
    );
    // The service would take longer to answer than the client to ask, and its waiting would hide what the client costs.
    await service.stop();
    const { url } = runs(await startRecorded(answers));
    const { Authorization: authorization = '', 'Workspace-ID': workspace } = service.headers;
    const call = {
      url,
      token: authorization.replace('Bearer ', ''),
      workspaceId: Number(workspace),
      ids,
      together: connections,
    };

    const question = await questionAbout(call, service.headers);
    const result = resultOf(await compareAll([question], options));
    onProgress(`${calls} calls under one signal`);
    return { ...result, growths: [await growthOver(calls, call)] };
  });
}

async function questionAbout(call: CallerOptions, headers: Readonly<Record<string, string>>): Promise<ComparisonPlan> {
  const { url, token, workspaceId, ids, together } = call;
  const client = new BankingClient({ baseUrl: url, token });
  const sent = { Accept: 'application/json', ...headers };

  const byClient = (id: number): Promise<unknown> => client.workspace(workspaceId).transfers.get(id);
  const byFetch = async (id: number): Promise<unknown> => {
    const response = await fetch(`${url}/transfers/${id}`, { headers: sent });
    return response.json();
  };
  for (const id of ids) {
    const [ours, theirs] = await Promise.all([byClient(id), byFetch(id)]);
    if (!isDeepStrictEqual(ours, theirs)) throw new Error(`the client reads transfer ${id} as something else`);
  }

  let turn = 0;
  const inTurn = (get: (id: number) => Promise<unknown>) => (seconds: number) =>
    callConcurrently(together, seconds, async () => void (await get(ids[turn++ % ids.length] as number)));
  return {
    name: `client.workspace(${workspaceId}).transfers.get(id), ${together} at once`,
    control: 'fetch of the same URL, and response.json()',
    aim: THROUGHPUT_AIM,
    sides: { ours: inTurn(byClient), control: inTurn(byFetch) },
  };
}

async function growthOver(calls: number, call: CallerOptions): Promise<Growth> {
  const child = fork(join(__dirname, 'calling-process.js'), {
    execArgv: WATCHED,
    env: { ...process.env, CALLER: JSON.stringify(call) },
  });
  const ended = once(child, 'exit');
  try {
    const marks = await growing(
      calls,
      (times) => told(child, times),
      () => heldBy(child),
    );
    return { name: `Memory of a process that calls ${calls} times`, marks, aimMb: GROWTH_AIM_MB };
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}
