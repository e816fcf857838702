import { type CellName, FURTHER_CELLS } from '../cells/cell-servers.js';
import { CellClients, isServed, isUnavailable, refusedOrNot, servedOrNot, until } from '../cells/cell-clients.js';
import { CELL_OUTAGES, type CellOutage } from '../cells/cell-fault-kinds.js';
import { takeAway } from '../cells/cell-outages.js';
import { endpointOfAll, makeCellsWorld, type PlacedWorkspace } from '../cells/cells-world.js';
import type { Violation } from '../check-orders.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';

/** Rounds of requests while a database is away. */
const REQUESTS = 3;
/** On a machine that is busy. */
const SERVED_WITHIN_MS = 20_000;

/**
 * The database of a cell is away: b and c in turn, in each of the ways. The workspaces of the other cells are served and paid out
 * meanwhile, and its own get 503. When it is back, every process serves it again without a restart.
 */
export const cellAway: Scenario = awayScenario('cell-away', FURTHER_CELLS, 2);

/** Home is away. The workspaces of the other cells are served from copies of the directory. No account can be opened anywhere. */
export const homeAway: Scenario = awayScenario('home-away', ['home'], 1);

function awayScenario(name: string, victims: readonly CellName[], minutesMax: number): Scenario {
  return {
    ...{ name, faults: CELL_OUTAGES, phase: 'alone', minutesMax },
    cluster: { hasCells: true },
    async run(context) {
      const endpoint = await endpointOfAll(context.cluster);
      const clients = new CellClients(context, endpoint);
      const world = await makeCellsWorld(context.cluster, endpoint);
      const startedAt = new Date();
      const product = await productOf(clients, world[0]!);
      for (let round = 0; !context.signal.aborted; round += 1) {
        const outage = CELL_OUTAGES[round % CELL_OUTAGES.length]!;
        const victim = victims[round % victims.length]!;
        await playRound(context, clients, { world, outage, victim, product });
      }
      await checkFinalState(context, { startedAt });
    },
  };
}

interface Round {
  readonly world: readonly PlacedWorkspace[];
  readonly outage: CellOutage;
  readonly victim: CellName;
  /** The id of a product for new accounts. */
  readonly product: number;
}

async function playRound(context: RunContext, clients: CellClients, round: Round): Promise<void> {
  const { cluster, log, tally, onProgress } = context;
  const { world, outage, victim } = round;
  const own = world.find(({ cell }) => cell === victim)!;
  const others = world.filter((place) => place !== own);
  // Every process knows the places before.
  const before = await Promise.all(world.flatMap((place) => clients.apis.map((api) => clients.read(place, api))));
  tally.addViolations(servedOrNot(before));
  const bringBack = await takeAway(cluster.cells, victim, outage);
  try {
    const isRefused = () => allOf(clients, (api) => clients.read(own, api), isUnavailable);
    if (!(await until(isRefused))) {
      tally.addViolations([{ check: 'outcome', detail: `reads in ${victim} got no 503 while its database was away` }]);
    }
    tally.addViolations(await callWhileAway(clients, round, own, others));
  } finally {
    await bringBack();
  }
  const backAt = performance.now();
  const isBack = await until(() => allOf(clients, (api) => clients.order(own, api), isServed));
  const tookMs = Math.round(performance.now() - backAt);
  onProgress(`${outage} of ${victim}: served ${tookMs} ms after the return`);
  if (!isBack || tookMs > SERVED_WITHIN_MS) {
    const detail = `${victim} was served ${tookMs} ms after its database was back`;
    tally.addViolations([{ check: 'response-time', detail }]);
  }
  await log.append({ event: 'fault', kind: outage, target: victim });
  tally.countFault(outage);
}

/** The other workspaces are served and paid out. Its own, and whatever needs home while home is away, are refused. */
async function callWhileAway(
  clients: CellClients,
  { victim, product }: Round,
  own: PlacedWorkspace,
  others: readonly PlacedWorkspace[],
): Promise<Violation[]> {
  const violations: Violation[] = [];
  const paidOut = others.map(async (place) => {
    const payout = await clients.payout(place, 0);
    violations.push(...servedOrNot([payout]));
    if (payout.orderId !== undefined) violations.push(...(await clients.untilCompleted(place, payout.orderId)));
  });
  for (let count = 0; count < REQUESTS; count += 1) {
    const calls = (place: PlacedWorkspace) =>
      clients.apis.flatMap((api) => [clients.order(place, api), clients.read(place, api)]);
    const [served, refused] = await Promise.all([Promise.all(others.flatMap(calls)), Promise.all(calls(own))]);
    const openings = await Promise.all(others.map((place, at) => clients.openAccount(place, product, at)));
    violations.push(...servedOrNot(served), ...refusedOrNot(refused));
    violations.push(...(victim === 'home' ? refusedOrNot(openings) : servedOrNot(openings)));
  }
  await Promise.all(paidOut);
  return violations;
}

async function allOf<Response>(
  { apis }: CellClients,
  send: (api: number) => Promise<Response>,
  isWanted: (response: Response) => boolean,
): Promise<boolean> {
  return (await Promise.all(apis.map(send))).every(isWanted);
}

async function productOf(clients: CellClients, { workspaceId }: PlacedWorkspace): Promise<number> {
  const { body } = await clients.get('products', '/products', workspaceId, 0);
  return (JSON.parse(body) as { id: number }[])[0]!.id;
}
