import { httpLoad } from './load.js';
import { posting } from './orders.js';
import { makePayers, type Payer } from './payers.js';
import { compareAll, counted, type ComparisonPlan, type Effort, type Result, resultOf } from './request.js';
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

const AIM = 0.85;
const PLACING = 50;
/** The newest transfers of both sides must be of one kind, or their pages differ. */
const FILLED_MIN = 100;
const LIST = '/transfers?limit=25';

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
    return resultOf(await compareAll(questionsTo(small, grown, options), options));
  });
}

function questionsTo(small: Side, grown: Side, { transfers, grownTo, connections }: GrownOptions): ComparisonPlan[] {
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
    asking(`GET ${LIST}`, () => [LIST]),
    asking('GET /transfers?accountId=…', ({ payers }) =>
      payers.map(({ accountId }) => `${LIST}&accountId=${accountId}`),
    ),
    { ...terms('Orders over HTTP'), sides: { ours: place(grown), control: place(small) } },
  ];
}
