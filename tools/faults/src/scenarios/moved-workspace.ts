import { AnchoredBooks } from '../cells/anchored-books.js';
import { MOVE_POINTS, type MovePoint } from '../cells/cell-fault-kinds.js';
import type { CellName } from '../cells/cell-servers.js';
import { endpointOfAll } from '../cells/cells-world.js';
import { checkCrossings, readCredits } from '../cells/check-crossings.js';
import { makeCrossingWorld } from '../cells/crossing-world.js';
import { Moves } from '../cells/moves.js';
import { MovingClient, Window } from '../cells/moving-load.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { FUNDS, type LoadAccount, Preparation } from '../world.js';
import { expireLeases } from '../work-trace.js';

const WINDOW_MAX_MS = 3_000;

/** A workspace is moved from cell to cell, while its clients and those of other cells pay, and pay each other. */
export const movedWorkspace: Scenario = {
  name: 'moved-workspace',
  faults: ['move'],
  phase: 'alone',
  minutesMax: 2,
  cluster: { hasCells: true },
  run: (context) =>
    runMoves(context, async (moves, to, _, window) => {
      window.longestMs = 0;
      context.tally.addViolations(await moves.move(to));
      const windowMs = Math.round(window.longestMs);
      context.onProgress(`moved to ${to}: not served for ${windowMs} ms`);
      if (windowMs > WINDOW_MAX_MS) context.tally.doubt(`a workspace was not served for ${windowMs} ms`);
      await note(context, 'move', to);
    }),
};

/** Every other move is killed, at each of its steps in turn. Then it is resumed, or abandoned where that is possible. */
export const killedMove: Scenario = {
  name: 'killed-move',
  faults: MOVE_POINTS.map((point) => `kill-move-${point}` as const),
  phase: 'other',
  minutesMax: 12,
  cluster: { hasCells: true },
  run: (context) =>
    runMoves(context, async (moves, to, round) => {
      const kills = Math.floor(round / 2);
      const point = round % 2 === 0 ? MOVE_POINTS[kills % MOVE_POINTS.length] : undefined;
      const isAbandoned = Math.floor(kills / MOVE_POINTS.length) % 2 === 0;
      context.tally.addViolations(await moves.move(to, point, isAbandoned));
      if (point === undefined) return context.onProgress(`moved to ${to}`);
      context.onProgress(`killed at ${point}, ${moves.cell === to ? 'resumed' : 'abandoned'}`);
      await note(context, `kill-move-${point}`, moves.cell);
    }),
};

type MoveOnce = (moves: Moves, to: CellName, round: number, window: Window) => Promise<void>;

/** Clients of each workspace. */
const CLIENTS = 4;

async function runMoves(context: RunContext, moveOnce: MoveOnce): Promise<void> {
  const { cluster, tally, prefix, signal, onProgress } = context;
  const endpoint = await endpointOfAll(cluster);
  const { places, pairs } = await makeCrossingWorld(cluster, endpoint);
  const preparation = new Preparation(endpoint);
  await preparation.readProducts(places[0]!.workspaceId);
  // Home stays where it is.
  const moving = places.find(({ cell }) => cell !== 'home')!;
  const moves = new Moves(cluster, moving.workspaceId, moving.cell);
  const clients: MovingClient[] = [];
  const owned: LoadAccount[] = [];
  for (const place of places) {
    const open = pairs.filter(({ payer, isClosed }) => payer.workspaceId === place.workspaceId && !isClosed);
    for (let count = 0; count < CLIENTS; count += 1) {
      const account = await preparation.openAccount(place.workspaceId, 'EUR', FUNDS);
      owned.push(account);
      clients.push(new MovingClient(context, endpoint, moves, { account, place, pairs: open }, clients.length));
    }
  }
  const anchored = await AnchoredBooks.take(cluster);
  const startedAt = new Date();
  const window = new Window(endpoint, moving.payer);
  onProgress(`${clients.length} clients, and a workspace that is moved`);
  const ended = new AbortController();
  const running = Promise.all([...clients.map((client) => client.run(ended.signal)), window.watch(ended.signal)]);
  try {
    for (let round = 0; !signal.aborted; round += 1) {
      const to: CellName = moves.cell === 'c' ? 'b' : 'c';
      await moveOnce(moves, to, round, window);
      tally.addViolations(await moves.archive());
    }
  } finally {
    ended.abort();
    await running;
  }
  for (const client of clients) await client.repeat();
  for (const database of cluster.databases) await expireLeases(database);
  await checkFinalState(context, {
    startedAt,
    check: async (operations, books) => {
      const booked = new Set(books.orders.map(({ key }) => key));
      // Clients pay from accounts of their own, by the recipients of their cell.
      const paid = owned.flatMap((payer) =>
        pairs.filter((pair) => pair.payer.workspaceId === payer.workspaceId).map((pair) => ({ ...pair, payer })),
      );
      return [
        ...checkCrossings(operations, booked, await readCredits(cluster.databases, prefix), paid),
        ...(await anchored.prove(places.map(({ workspaceId }) => workspaceId))),
      ];
    },
  });
}

async function note({ log, tally }: RunContext, kind: 'move' | `kill-move-${MovePoint}`, target: string) {
  await log.append({ event: 'fault', kind, target });
  tally.countFault(kind);
}
