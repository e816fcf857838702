import { setTimeout as pause } from 'node:timers/promises';
import { type AdminSession, OPERATOR_ROLE, Database, SCHEMA } from '@banking/postgres';
import {
  endMove,
  recordStep,
  type MoveCells,
  type MoveSessions,
  beginMove,
  type Move,
  placeOf,
  readMove,
  type MoveSettings,
  type Step,
  switchBack,
} from './move-record.js';
import { unpublish, unsubscribe, publishWorkspace, subscribe, untilCopied, untilFollowed } from './move-replication.js';
import { removeRows, requireRemover, hasRows } from './remove-rows.js';
import {
  leaveTarget,
  expectWorkspace,
  leaveWorkspace,
  openMoved,
  requireNotServed,
  stateOf,
  takeBack,
} from './take-over.js';
import { DeploymentError } from '../explain-failure.js';
import { reopenWorkspace, closeAndSwitch, DifferingRowsError, type OnClosed } from './switch-workspace.js';
import { asOwner } from './act-as.js';
import { compareBefore } from './compare-rows.js';
import { requireEqualCells, requireEqualRoles } from './migrate-cells.js';
import { untilRecorded } from './move-events.js';
import { unlessAway, withCell, withCellOf, withCells, withHome } from './move-sessions.js';
import { qualified, tablesOfWorkspace } from './tables-of-workspace.js';

/** The source is open. Removes what the move has made, and its record. May be repeated. */
async function abandonSteps(
  sessions: MoveSessions,
  cells: MoveCells,
  log: (line: string) => void = () => undefined,
): Promise<void> {
  const { home, source, target } = sessions;
  const { workspaceId } = cells;
  await recordStep(home, workspaceId, 'abandon');
  await unsubscribe(target, cells);
  await unpublish(source, cells);
  await requireRemover(target, cells.target);
  const removed = await removeRows(target, workspaceId);
  await leaveTarget(target, workspaceId);
  await endMove(home, workspaceId);
  log(
    `Removed ${removed} rows from the cell ${cells.target}. The cell ${cells.source} serves workspace ${workspaceId}.`,
  );
}

export interface MoveOptions extends MoveSettings {
  /** The name of the cell that the workspace moves to. */
  readonly to: string;
  /** Verifies the workspace in the target, while the source serves it. @returns the findings */
  readonly verify: (database: Database, workspaceId: number) => Promise<readonly string[]>;
  /** How long the source may be closed before the switch, in milliseconds. Default 2,500. */
  readonly windowMs?: number | undefined;
  /** Called before each step, for `switched` when the target is open, and for `done` at the end; for tests, which throw here. */
  readonly onStep?: ((step: Step) => Promise<void> | void) | undefined;
  readonly onClosed?: OnClosed | undefined;
}

const WINDOW_MS = 2_500;
/** Attempts to close, and the pause after each. */
const ATTEMPTS = 5;
const PAUSE_MS = 1_000;
/** The target follows if it has what the source wrote this time ago. */
const LAG_MAX_MS = 500;
/** A range of the books takes about a second. */
const READING_TIMEOUT_MS = 60_000;

/**
 * Moves a workspace to another cell while it is served. It is closed for at most the window, and callers get `unavailable` then. A later
 * call with the same arguments continues a move that was interrupted at any step.
 *
 * @returns false if the workspace was in that cell before
 * @throws DeploymentError with what to do; the source serves the workspace unless the message says otherwise
 */
export async function moveWorkspace(options: MoveOptions): Promise<boolean> {
  const { workspaceId, to, log = () => undefined } = options;
  return withHome(options, workspaceId, async (home) => {
    const before = await readMove(home, workspaceId);
    if (before === undefined || before.step === 'done') {
      const place = await placeOf(home, workspaceId);
      if (place !== to)
        return run(options, home, await begin(options, home, { workspaceId, source: place, target: to }));
      await withCell(options, to, (cell) => requireServed(home, cell, { workspaceId, cell: to }));
      return false;
    }
    if (before.step === 'abandon' || before.target !== to) throw otherMove(before);
    log(`Continuing the move of workspace ${workspaceId} at the step ${before.step}.`);
    if (before.step === 'close') await reopenAtSource(options, before);
    return run(options, home, before);
  });
}

async function begin(options: MoveOptions, home: AdminSession, cells: MoveCells): Promise<Move> {
  await withCells(options, home, cells, async ({ source, target }) => {
    const known = await asOwner(home, () => home.query('select from cell where name = $1', [cells.target]));
    if (known.length === 0) {
      throw new DeploymentError(
        `The deployment has no cell "${cells.target}" yet. Run banking cell add ${cells.target}.`,
      );
    }
    await requireServed(home, source, { workspaceId: cells.workspaceId, cell: cells.source });
    await requireEqualCells(source, target, cells);
    const stayed = await asOwner(target, () =>
      target.query('select from cell_workspace where workspace_id = $1', [cells.workspaceId]),
    );
    if (stayed.length > 0 || (await hasRows(target, cells.workspaceId))) throw notArchived(cells);
  });
  await beginMove(home, cells, options.operatingSystemUser);
  return { ...cells, step: 'prepare' };
}

/** @throws DeploymentError with the ways out if a cell does not serve a workspace that home places there and that is not being moved */
async function requireServed(
  home: AdminSession,
  session: AdminSession,
  { workspaceId, cell }: { readonly workspaceId: number; readonly cell: string },
): Promise<void> {
  if ((await stateOf(session, workspaceId)) === 'open') return;
  const move = await readMove(home, workspaceId);
  const back =
    move?.target === cell
      ? ` Or let the cell "${move.source}" serve it again, which has its rows from before the move: banking cell move ${workspaceId} --abandon.`
      : '';
  throw new DeploymentError(
    `Home places workspace ${workspaceId} in the cell "${cell}", which does not serve it. Nothing is changed. Was a database restored? Recover ` +
      `the cell "${cell}" to a later moment.${back} See docs/maintain.md, section "Several databases".`,
  );
}

function otherMove({ workspaceId, target, step }: Move): DeploymentError {
  return new DeploymentError(
    step === 'abandon'
      ? `The move of workspace ${workspaceId} to the cell "${target}" is being abandoned. Run banking cell move ${workspaceId} --abandon first.`
      : `Workspace ${workspaceId} is being moved to the cell "${target}". Continue that move, or abandon it: banking cell move ${workspaceId} --abandon.`,
  );
}

const notArchived = ({ workspaceId, target }: MoveCells) =>
  new DeploymentError(
    `The cell "${target}" still has rows of workspace ${workspaceId}, from before it left. Run banking cell archive ${workspaceId} first.`,
  );

/** @returns true */
function run(options: MoveOptions, home: AdminSession, move: Move): Promise<boolean> {
  return withCells(options, home, move, async (sessions) => {
    try {
      if (move.step !== 'switched') await untilSwitched(options, sessions, move);
      await finish(options, sessions, move);
      return true;
    } catch (error) {
      if (!(error instanceof DifferingRowsError)) throw error;
      await abandonSteps(sessions, move, options.log);
      throw error;
    }
  });
}

/** The source serves the workspace also while the target is away. */
async function reopenAtSource(options: MoveSettings, move: Move): Promise<void> {
  await unlessAway(() => withCell(options, move.target, (target) => requireNotServed(target, move)));
  await withCellOf(options, move.source, move.workspaceId, (source) => reopenWorkspace(source, move.workspaceId));
}

async function untilSwitched(options: MoveOptions, sessions: MoveSessions, cells: MoveCells): Promise<void> {
  const { home, source, target } = sessions;
  const { workspaceId, log = () => undefined } = options;
  const step = async (name: Step, message: string) => {
    options.signal?.throwIfAborted();
    await recordStep(home, workspaceId, name);
    log(message);
    await options.onStep?.(name);
  };
  await requireNotServed(target, cells);
  // A command that was killed may have left it closed.
  await reopenWorkspace(source, workspaceId);
  await step('prepare', `Copying workspace ${workspaceId} from ${cells.source} to ${cells.target}.`);
  await expectWorkspace(target, workspaceId);
  await publishWorkspace(source, cells);
  await subscribe(sessions, cells, options.addressOf(cells.source, cells.target));
  await untilCopied(
    target,
    cells,
    ({ copied, tables }) => log(`Copied ${copied} of ${tables} tables.`),
    options.signal,
  );
  await analyzeCopy(target);
  await step('follow', 'Verifying the copy while it follows.');
  await verifyCopy(options, cells);
  for (let attempt = 1; ; attempt += 1) {
    // A pause of the target would make rows differ that are equal once it has followed.
    await untilClose(sessions, cells, options.signal);
    // A backlog would take longer than the workspace may be closed.
    await untilRecorded(source, workspaceId, () => options.signal?.aborted === true);
    log('Comparing its rows.');
    const baseline = await compareBefore(sessions, workspaceId);
    await untilClose(sessions, cells, options.signal);
    await requireEqualRoles(sessions.source, sessions.target, cells);
    await step('close', 'Closing the workspace at its cell.');
    const windowMs = options.windowMs ?? WINDOW_MS;
    const reason = await closeAndSwitch(sessions, cells, { baseline, windowMs, onClosed: options.onClosed });
    if (reason === undefined) return;
    log(`The workspace is open at its cell again after ${windowMs} ms: ${reason}.`);
    if (attempt === ATTEMPTS) throw notInTime(cells, windowMs, reason);
    await pause(PAUSE_MS);
  }
}

const notInTime = ({ workspaceId, target }: MoveCells, windowMs: number, reason: string) =>
  new DeploymentError(
    `Workspace ${workspaceId} could not be switched within ${windowMs} ms: ${reason}. Its cell serves it, and the copy follows. Continue ` +
      `at a calmer time, or with a longer --window: banking cell move ${workspaceId} --to ${target}. Or abandon it: --abandon.`,
  );

/** Without statistics of the planner, the verification of many rows could take hours. Autovacuum would make them a minute later. */
async function analyzeCopy(target: AdminSession): Promise<void> {
  const names = (await tablesOfWorkspace(target)).map(({ name }) => qualified(name));
  await asOwner(target, () => target.query(`analyze ${names.join(', ')}`));
}

async function verifyCopy(options: MoveOptions, { workspaceId, target }: MoveCells): Promise<void> {
  const database = await Database.open({
    connection: options.connectionOf(target),
    role: OPERATOR_ROLE,
    schema: SCHEMA,
    poolSize: 2,
    // No caller waits, and a busy server may take longer for a connection than a request would wait.
    acquireTimeoutMs: READING_TIMEOUT_MS,
    statementTimeoutMs: READING_TIMEOUT_MS,
    lockTimeoutMs: READING_TIMEOUT_MS,
  });
  try {
    const findings = await options.verify(database, workspaceId);
    if (findings.length === 0) return;
    throw new DeploymentError(
      `The verification of workspace ${workspaceId} in the cell "${target}" has findings: ${findings.slice(0, 5).join('; ')}. Its cell ` +
        `serves it. Verify it there too, and abandon the move: banking cell move ${workspaceId} --abandon.`,
    );
  } finally {
    await database.end();
  }
}

/** Waits until the target follows closely, so that the workspace is closed for a short time only. */
async function untilClose(sessions: MoveSessions, cells: MoveCells, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const startedMs = performance.now();
    await untilFollowed(sessions, cells, () => signal?.aborted === true);
    signal?.throwIfAborted();
    if (performance.now() - startedMs <= LAG_MAX_MS) return;
  }
}

/** After the switch: the target serves the workspace at once. */
async function finish(options: MoveOptions, sessions: MoveSessions, cells: MoveCells): Promise<void> {
  const { home, source, target } = sessions;
  const { workspaceId, log = () => undefined } = options;
  // Before the target opens, because rows that arrive would overwrite those that it writes.
  await unsubscribe(target, cells);
  await openMoved(target, workspaceId);
  await requireServed(home, target, { workspaceId, cell: cells.target });
  log(`The cell ${cells.target} serves workspace ${workspaceId}.`);
  await options.onStep?.('switched');
  await leaveWorkspace(source, workspaceId);
  await unpublish(source, cells);
  await recordStep(home, workspaceId, 'done');
  await options.onStep?.('done');
}

/**
 * Ends a move before its switch: the source serves the workspace, and the target has nothing of it. May be repeated.
 *
 * After the switch it is the way back where the target has lost the workspace, because it was restored to an earlier moment. The source then
 * serves it with its rows from before the switch.
 */
export async function abandonMove(options: MoveSettings): Promise<void> {
  const { workspaceId, log } = options;
  await withHome(options, workspaceId, async (home) => {
    const move = await readMove(home, workspaceId);
    if (move === undefined) throw notMoving(workspaceId);
    if (move.step === 'switched' || move.step === 'done') {
      await withCells(options, home, move, async (sessions) => {
        await requireLost(sessions, move);
        // The target may have served it before the source was told, and has left no trace.
        await leaveWorkspace(sessions.source, workspaceId);
      });
      await switchBack(home, workspaceId);
    } else {
      await recordStep(home, workspaceId, 'abandon');
      await reopenAtSource(options, move);
    }
    await withCells(options, home, move, async (sessions) => {
      await requireNotServed(sessions.target, move);
      await reopenWorkspace(sessions.source, workspaceId);
      await takeBack(sessions.source, workspaceId);
      await abandonSteps(sessions, move, log);
    });
  });
}

const notMoving = (workspaceId: number) =>
  new DeploymentError(`Workspace ${workspaceId} is not being moved. See banking cell list.`);

/** @throws DeploymentError unless the target of a move has lost the workspace, and the source still has its rows */
async function requireLost({ source, target }: MoveSessions, { workspaceId, step, ...cells }: Move): Promise<void> {
  const [atSource, atTarget] = [await stateOf(source, workspaceId), await stateOf(target, workspaceId)];
  if (step === 'switched' && atTarget !== undefined) {
    throw new DeploymentError(
      `Workspace ${workspaceId} is in the cell "${cells.target}" already. Finish the move: banking cell move ${workspaceId} --to ${cells.target}.`,
    );
  }
  if (atTarget === 'open') throw notMoving(workspaceId);
  if (atSource !== undefined) return;
  throw new DeploymentError(
    `Neither the cell "${cells.target}" nor the cell "${cells.source}" has workspace ${workspaceId}. Nothing is changed. Recover one of them to a ` +
      `moment at which it had; see docs/maintain.md, section "Several databases".`,
  );
}
