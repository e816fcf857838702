import { httpLoad } from './load.js';
import { posting } from './orders.js';
import { makePayers, type Payer } from './payers.js';
import { compareAll, counted, type ComparisonPlan, type Effort, type Result, resultOf } from './request.js';
import { recordResponse } from './response.js';
import { inWorkshop, makeWorld, type World } from './world.js';

export interface GrownOptions extends Effort {
  readonly accounts: number;
  /** How many transfers the books hold, on either side. */
  readonly transfers: number;
  readonly grownTo: number;
}

interface Side extends World {
  readonly payers: readonly Payer[];
}

/** Paths of lists with as many items on either side. */
interface Lists {
  readonly ofWorkspace: string;
  readonly ofAccount: (payers: readonly Payer[]) => readonly string[];
}

const AIM = 0.85;
const PLACING = 50;
/** The newest transfers of both sides must be of one kind, or their pages differ. */
const FILLED_MIN = 100;
const LIMIT = 25;

/** Measures whether reads, lists and orders slow down with the number of transfers in the books. */
export function benchGrown(options: GrownOptions): Promise<Result> {
  return inWorkshop(async ({ folder, runs }) => {
    const sideOf = async (name: string, transfers: number): Promise<Side> => {
      const { accounts, onProgress } = options;
      const payers = await makePayers(folder(name), { accounts, workspaces: 1, placing: PLACING });
      const world = await makeWorld(folder(name), transfers, onProgress);
      runs(world.service);
      if (world.filled < FILLED_MIN) throw new Error(`Give more than ${transfers} transfers for ${accounts} accounts.`);
      return { ...world, payers: payers.accounts };
    };
    const small = await sideOf('small', options.transfers);
    const grown = await sideOf('grown', options.grownTo);
    const lists = await listsOf(small, grown);
    return resultOf(await compareAll(questionsTo(small, grown, lists, options), options));
  });
}

/** No page of an account has more items than the account with the fewest transfers, so that both sides send as many. */
async function listsOf(...sides: readonly Side[]): Promise<Lists> {
  const fewest = async (pathsOf: (side: Side) => readonly string[]): Promise<number> => {
    let least = Infinity;
    for (const side of sides) {
      for (const path of pathsOf(side)) least = Math.min(least, await countItems(side, path));
    }
    return least;
  };
  const ofWorkspace = `/transfers?limit=${LIMIT}`;
  if ((await fewest(() => [ofWorkspace])) < LIMIT) throw new Error(`a workspace has fewer than ${LIMIT} transfers`);
  const paths = (payers: readonly Payer[], limit: number) =>
    payers.map(({ accountId }) => `/transfers?limit=${limit}&accountId=${accountId}`);
  const limit = await fewest(({ payers }) => paths(payers, LIMIT));
  return { ofWorkspace, ofAccount: (payers) => paths(payers, limit) };
}

async function countItems({ service }: Side, path: string): Promise<number> {
  const { body } = await recordResponse(service, path);
  return (JSON.parse(body) as unknown[]).length;
}

function questionsTo(
  small: Side,
  grown: Side,
  lists: Lists,
  { transfers, grownTo, connections }: GrownOptions,
): ComparisonPlan[] {
  const asking = (name: string, pathsOf: (side: Side) => readonly string[]): ComparisonPlan => {
    const load = (side: Side) => {
      const requests = pathsOf(side).map((path) => ({ path }));
      return httpLoad({ answering: side.service, connections, requests, expects: 200 });
    };
    return { ...terms(name), sides: { ours: load(grown), control: load(small) } };
  };
  const terms = (name: string) => ({
    name: `${name}, ${counted(grownTo)} in the books`,
    control: `the service, ${counted(transfers)} in the books`,
    aim: AIM,
  });
  const place = ({ service, payers }: Side) => posting(service, payers, { connections });
  return [
    asking('GET /transfers/{transferId}', ({ transferPaths }) => transferPaths),
    asking(`GET ${lists.ofWorkspace}`, () => [lists.ofWorkspace]),
    asking('GET /transfers?accountId=…', ({ payers }) => lists.ofAccount(payers)),
    { ...terms('Orders over HTTP'), sides: { ours: place(grown), control: place(small) } },
  ];
}
