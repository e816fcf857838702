import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CellName, FURTHER_CELLS } from '../cluster.js';
import { type LoadOptions, runLoad } from '../load.js';
import { call, type CallOptions, type Endpoint, isUnavailable, type Received } from '../orders.js';
import type { CommandResult } from '../processes.js';
import { noteFault, type RunContext, type Scenario, type Violation, violationsOf } from '../scenario.js';
import type { LoadAccount } from '../world.js';
import { cellsWorld, checkCrossings } from './cells.js';
import { expireLeases } from './payouts.js';

/** Where the command of a move is killed: a step that home has recorded, or `closed` while the workspace is closed at its cell. */
const MOVE_POINTS = ['closed', 'switched', 'prepare', 'follow'] as const;
type MovePoint = (typeof MOVE_POINTS)[number];

const WINDOW_MAX_MS = 3_000;
/** Of each workspace. */
const CLIENTS = 4;

/** A workspace is moved from cell to cell, while its clients and those of other cells pay, and pay each other. */
const movedWorkspace: Scenario = {
  ...{ name: 'moved-workspace', faults: ['move'], phase: 'alone', minutesMax: 2, cluster: { hasCells: true } },
  run: (context) =>
    runMoves(context, {}, async (moves, to) => {
      moves.longestMs = 0;
      await moves.move(to);
      const windowMs = Math.round(moves.longestMs);
      context.onProgress(`moved to ${to}: not served for ${windowMs} ms`);
      if (windowMs > WINDOW_MAX_MS) context.tally.doubt(`a workspace was not served for ${windowMs} ms`);
      await noteFault(context, 'move', to);
    }),
};

/** Every other move is killed, at each of its steps in turn. Then it is resumed, or abandoned where that is possible. */
const killedMove: Scenario = {
  ...{ name: 'killed-move', faults: MOVE_POINTS.map((point) => `kill-move-${point}`), phase: 'other', minutesMax: 12 },
  cluster: { hasCells: true },
  run: (context) =>
    runMoves(context, { pauses: KILLED_PAUSES }, async (moves, to, round) => {
      const kills = Math.floor(round / 2);
      const point = round % 2 === 0 ? MOVE_POINTS[kills % MOVE_POINTS.length] : undefined;
      const isAbandoned = Math.floor(kills / MOVE_POINTS.length) % 2 === 0;
      await moves.move(to, point, isAbandoned);
      if (point === undefined) return context.onProgress(`moved to ${to}`);
      context.onProgress(`killed at ${point}, ${moves.cell === to ? 'resumed' : 'abandoned'}`);
      await noteFault(context, `kill-move-${point}`, moves.cell);
    }),
};

/** So that the workspace, and with it each move, does not grow by much in the time of forty of them. */
const KILLED_PAUSES = 9;

async function runMoves(
  context: RunContext,
  { pauses = 0 }: Pick<LoadOptions, 'pauses'>,
  moveOnce: (moves: Moves, to: CellName, round: number) => Promise<void>,
): ReturnType<Scenario['run']> {
  const { cluster, signal } = context;
  const { places, workspaces, endpoint, world } = await cellsWorld(cluster, 2, CLIENTS);
  // Home stays where it is.
  const { workspaceId, cell } = places.find((place) => place.cell !== 'home')!;
  const payees = new Map(
    workspaces.flatMap((id) => world.pool.map((payee) => [world.recipientFor(id, payee), payee] as const)),
  );
  const moves = new Moves(context, workspaceId, cell, payees);
  const provesBooks = await anchorBooks(context, workspaces);
  const ended = new AbortController();
  const judged = { ...endpoint, onReceived: moves.judge };
  const own = world.owned.find((account) => account.workspaceId === workspaceId)!;
  const running = Promise.all([
    runLoad(context, { world, endpoint: judged, signal: ended.signal, repeats: true, pauses }),
    moves.watch(endpoint, own, ended.signal),
  ]);
  try {
    for (let round = 0; !signal.aborted; round += 1) {
      await moveOnce(moves, moves.cell === 'c' ? 'b' : 'c', round);
      await moves.archive();
    }
  } finally {
    ended.abort();
    await running;
  }
  for (const server of cluster.databases) await expireLeases(server);
  return {
    owned: world.owned,
    check: async (operations, booked) => [
      ...(await checkCrossings(context, operations, booked, world)),
      ...(await provesBooks()),
    ],
  };
}

/** Anchors what is there. @returns compares the databases with the anchor, then exports of the books and audit trails of all workspaces */
async function anchorBooks(
  { cluster, prefix }: RunContext,
  workspaces: readonly number[],
): Promise<() => Promise<Violation[]>> {
  const file = (name: string) => join(cluster.folder, `${prefix}.${name}`);
  const [key, publicKey, anchor] = [file('anchor.key'), file('anchor.pub'), file('anchor.jsonl')];
  execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', key]);
  execFileSync('openssl', ['pkey', '-in', key, '-pubout', '-out', publicKey]);
  await cluster.require(['anchor', '--key', key, '--out', anchor]);
  return async () => {
    const since = ['--since', anchor, '--public-key', publicKey];
    const exports = workspaces.flatMap((id) => [
      ['export', '--workspace', String(id), '--out', file(`books-${id}.jsonl`)],
      ['audit', 'export', '--workspace', String(id), '--out', file(`audit-${id}.jsonl`)],
    ]);
    const faults: string[] = [];
    for (const command of [
      ['verify', ...since],
      ...exports,
      ['prove', ...since, ...exports.map((one) => one.at(-1)!)],
    ]) {
      const { exitCode, output } = await cluster.runCommand(...command);
      if (exitCode !== 0) faults.push(`banking ${command[0]} ended with ${exitCode}: ${output.slice(-2_000)}`);
    }
    return violationsOf('books', faults);
  };
}

const POLL_MS = 2;
/** After which a request without a free connection to its database gets 503. */
const CONNECTION_MS = 2_000;
const WATCH_MS = 10;
const POINT_WAIT_MS = 60_000;
/** On a busy machine the workspace may not be closed and switched within the window. Then the command says so, and its cell serves it. */
const ATTEMPTS = 10;

/** Moves one workspace with the commands of operators, and kills them. */
class Moves {
  /** When a workspace may be closed to its callers. */
  private readonly times: { readonly beganAt: number; endedAt: number }[] = [];
  /** The longest time in which reads of the workspace got no success. */
  longestMs = 0;

  constructor(
    private readonly context: RunContext,
    private readonly workspaceId: number,
    public cell: CellName,
    private readonly payees: ReadonlyMap<number, LoadAccount>,
  ) {}

  /** Only the workspace that is being moved is refused, and a payment to it, and only with the time after which to retry. */
  readonly judge = (received: Received, { path, method, workspaceId, body }: CallOptions): void => {
    const { status, error, ms, body: text } = received;
    if (status !== undefined && status < 300) return;
    const { recipientID } = (body ?? {}) as { recipientID?: number };
    const isOwn = [workspaceId, this.payees.get(recipientID ?? 0)?.workspaceId].includes(this.workspaceId);
    const now = performance.now();
    const isMoving = this.times.some(({ beganAt, endedAt }) => beganAt <= now && now - ms <= endedAt);
    if (isUnavailable(received) && isOwn && isMoving) return;
    // No connection to a database came free in time.
    if (isUnavailable(received) && ms >= CONNECTION_MS) return this.context.tally.doubt('the machine is too busy');
    const whose = isOwn ? 'the moving workspace' : 'a workspace that was not moved';
    this.context.tally.violate('outcome', `${method} ${path} of ${whose} got ${status ?? error} ${text.slice(0, 200)}`);
  };

  async watch(endpoint: Endpoint, { workspaceId, id }: LoadAccount, signal: AbortSignal): Promise<void> {
    let lastServedAt = performance.now();
    for (let api = 0; !signal.aborted; api += 1) {
      const beganAt = performance.now();
      const { status } = await call(endpoint, { api, method: 'GET', path: `/accounts/${id}`, workspaceId });
      if (status === 200) {
        // From the end of the last success to the begin of the next.
        this.longestMs = Math.max(this.longestMs, beganAt - lastServedAt);
        lastServedAt = performance.now();
      }
      await sleep(WATCH_MS);
    }
  }

  /** Moves the workspace. @param point kills the command there; it is then resumed, or abandoned if that is possible */
  async move(to: CellName, point?: MovePoint, isAbandoned = false): Promise<void> {
    const time = { beganAt: performance.now(), endedAt: Infinity };
    this.times.push(time);
    if (point !== undefined) await this.killAt(to, point);
    if (isAbandoned && point !== undefined && point !== 'switched') await this.run(['--abandon'], this.cell);
    else {
      await this.run(['--to', to], to);
      await this.askOldCells(to);
    }
    time.endedAt = performance.now();
  }

  /** Removes the rows that the workspace has left in its former cell. */
  async archive(): Promise<void> {
    this.require('archive', await this.context.cluster.runCommand('cell', 'archive', String(this.workspaceId)));
  }

  private async run(parameters: readonly string[], cell: CellName): Promise<void> {
    const command = ['cell', 'move', String(this.workspaceId), ...parameters];
    let result = await this.context.cluster.runCommand(...command);
    for (let attempt = 1; attempt < ATTEMPTS && hasMissedWindow(result); attempt += 1) {
      result = await this.context.cluster.runCommand(...command);
    }
    if (result.exitCode === 0) this.cell = cell;
    this.require(`move ${parameters.join(' ')}`, result);
  }

  private async killAt(to: CellName, point: MovePoint): Promise<void> {
    const { cluster } = this.context;
    const command = cluster.command(['cell', 'move', String(this.workspaceId), '--to', to]);
    let isOver = false;
    const done = command.done.finally(() => (isOver = true));
    const client = await (point === 'closed' ? cluster.of(this.cell) : cluster.database).connect();
    const untilMs = performance.now() + POINT_WAIT_MS;
    const query =
      point === 'closed'
        ? `select from banking.cell_workspace where workspace_id = $1 and state = 'moving'`
        : `select from banking.workspace_move where workspace_id = $1 and step = '${point}'`;
    while (!isOver && (await client.query(query, [this.workspaceId])).rowCount === 0 && performance.now() < untilMs) {
      await sleep(POLL_MS);
    }
    await client.end();
    command.kill();
    const result = await done;
    if (result.exitCode === null || hasMissedWindow(result)) return;
    // The command ended before it was killed.
    if (result.exitCode === 0) this.cell = to;
    this.require('move', result);
  }

  /** The role of the API, asked for the workspace in the cells that do not serve it. */
  private async askOldCells(to: CellName): Promise<void> {
    const { cluster, tally } = this.context;
    for (const cell of (['home', ...FURTHER_CELLS] as const).filter((one) => one !== to)) {
      const client = await cluster.of(cell).connect();
      await client.query('begin; set local role banking_api');
      const scope = `set_config('app.workspaces', banking.require_open_workspaces($1), true)`;
      const rows = `(select count(*) from banking.account where workspace_id = $2)::text as rows`;
      const parameters = [`{${this.workspaceId}}`, this.workspaceId];
      const answer = await client.query<{ rows: string }>(`select ${scope}, ${rows}`, parameters).then(
        (result) => `${result.rows[0]?.rows} accounts`,
        ({ code, message }: { code?: string; message: string }) => (code === 'BK017' ? '' : message),
      );
      await client.end();
      if (answer !== '') tally.violate('old-cell', `${cell} showed ${answer} of a workspace of ${to}`);
    }
  }

  private require(command: string, { exitCode, output }: CommandResult): void {
    if (exitCode === 0) return;
    this.context.tally.violate('moves', `banking cell ${command} ended with ${exitCode}: ${output.slice(-1_000)}`);
  }
}

const hasMissedWindow = ({ output }: CommandResult): boolean => output.includes('could not be switched within');

export const MOVE_SCENARIOS: readonly Scenario[] = [movedWorkspace, killedMove];
