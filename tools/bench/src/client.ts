import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BankingClient } from '@banking/client';
import { answerOf } from './answer.js';
import { startRecorded } from './control.js';
import { type Growth, growing } from './growth.js';
import { askTogether } from './load.js';
import { compareAll, type Effort, type Question, type Result, resultOf } from './question.js';
import { heldBy, told, WATCHED } from './watched-child.js';
import { inWorkshop, makeWorld } from './world.js';

export interface ClientOptions extends Effort {
  /** How many calls its memory is watched over. */
  readonly calls: number;
}

/** What the process that is watched calls, and how. */
export interface CallingWish {
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
      await Promise.all(paths.map(async (path) => [path, await answerOf(service, path)] as const)),
    );
    // The service would take longer to answer than the client to ask, and its waiting would hide what the client costs.
    await service.stop();
    const { url } = runs(await startRecorded(answers));
    const { Authorization: authorization = '', 'Workspace-ID': workspace } = service.headers;
    const wish = {
      url,
      token: authorization.replace('Bearer ', ''),
      workspaceId: Number(workspace),
      ids,
      together: connections,
    };

    const question = await questionAbout(wish, service.headers);
    const result = resultOf(await compareAll([question], options));
    onProgress(`${calls} calls under one signal`);
    return { ...result, growths: [await growthOver(calls, wish)] };
  });
}

async function questionAbout(wish: CallingWish, headers: Readonly<Record<string, string>>): Promise<Question> {
  const { url, token, workspaceId, ids, together } = wish;
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
    askTogether(together, seconds, async () => void (await get(ids[turn++ % ids.length] as number)));
  return {
    name: `client.workspace(${workspaceId}).transfers.get(id), ${together} at once`,
    control: 'fetch of the same URL with the same headers, and response.json()',
    aim: THROUGHPUT_AIM,
    sides: { ours: inTurn(byClient), control: inTurn(byFetch) },
  };
}

async function growthOver(calls: number, wish: CallingWish): Promise<Growth> {
  const child = fork(join(__dirname, 'calling-process.js'), [JSON.stringify(wish)], { execArgv: WATCHED });
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
