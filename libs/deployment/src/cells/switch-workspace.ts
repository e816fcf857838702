import { setTimeout as pause } from 'node:timers/promises';
import { type AdminSession, sqlstateOf, SQLSTATE } from '@banking/postgres';
import { DeploymentError } from '../explain-failure.js';
import { asOwner } from './act-as.js';
import { type Baseline, differingTables } from './compare-rows.js';
import { readMove, switchPlace, type MoveCells, type MoveSessions } from './move-record.js';
import { untilRecorded } from './move-events.js';
import { untilFollowed } from './move-replication.js';
import { proofSession, type ProofSession } from './verify-over-cells.js';
import { takeOver } from './take-over.js';

const POLL_MS = 5;

/** The database refuses new scopes with the workspace from now on. @returns when, by the clock of the database */
async function closeWorkspace(source: AdminSession, workspaceId: number): Promise<string> {
  const [closed] = await setState(source, workspaceId, 'open', 'moving');
  if (closed === undefined) throw new Error(`the workspace ${workspaceId} is not open in its cell`);
  return closed.at;
}

/** Does nothing if it is open. */
export async function reopenWorkspace(source: AdminSession, workspaceId: number): Promise<void> {
  await setState(source, workspaceId, 'moving', 'open');
}

/** @returns one row if the state was the one from which it changes */
async function setState(session: AdminSession, workspaceId: number, from: string, to: string) {
  return asOwner(session, () =>
    session.query<{ at: string }>(
      `update cell_workspace set state = $3 where workspace_id = $1 and state = $2 returning rfc3339(clock_timestamp()) as at`,
      [workspaceId, from, to],
    ),
  );
}

/**
 * Waits for the scopes that have seen the workspace open. Each holds a lock until its end, and reads the state after it has the lock: so
 * they are the holders of the moment after the change. Taking the lock itself would let later scopes wait, of other workspaces too.
 *
 * @returns the processes of those that are left when the time is over
 */
async function untilScopesEnded(
  source: AdminSession,
  workspaceId: number,
  isOver: () => boolean,
): Promise<readonly number[]> {
  let left = await holders(source, workspaceId);
  const before = new Set(left.map(({ scope }) => scope));
  while (left.length > 0) {
    if (isOver()) return left.map(({ pid }) => pid);
    await pause(POLL_MS);
    left = (await holders(source, workspaceId)).filter(({ scope }) => before.has(scope));
  }
  return [];
}

/** A key of 64 bits is shown in halves. */
const holders = (source: AdminSession, workspaceId: number) =>
  asOwner(source, () =>
    source.query<{ pid: number; scope: string }>(
      `select l.pid, l.virtualtransaction as scope from pg_locks l
       where l.locktype = 'advisory' and l.granted and l.objsubid = 1
         and l.database = (select oid from pg_database where datname = current_database())
         and (l.classid::bigint << 32) | l.objid::bigint = workspace_lock_key($1)`,
      [workspaceId],
    ),
  );

/**
 * Waits for the database transactions that began before, and may have seen the workspace open. A read of a caller holds no lock. It ends
 * within its time limits.
 */
export async function untilReadsEnded(source: AdminSession, signal?: AbortSignal): Promise<void> {
  const [now] = await source.query<{ at: string }>('select clock_timestamp()::text as at');
  for (;;) {
    signal?.throwIfAborted();
    const [read] = await source.query(
      `select from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name like 'banking %' and xact_start < $1 limit 1`,
      [now!.at],
    );
    if (read === undefined) return;
    await pause(POLL_MS);
  }
}

/** Rows of source and target differ, so the move must not go on. */
export class DifferingRowsError extends DeploymentError {}

/** How much longer than the window the databases may take to respond. */
const RESPONSE_MAX_MS = 500;

/** Called between the parts of the time in which the workspace is closed, and after the switch; for tests. */
export type OnClosed = (part: 'closed' | 'followed' | 'proved' | 'switched') => Promise<void> | void;

interface SwitchOptions {
  /** What was compared before. */
  readonly baseline: Baseline;
  /** How long the source may be closed before the switch. */
  readonly windowMs: number;
  readonly onClosed?: OnClosed | undefined;
}

/**
 * Closes the workspace at the source, proves that the target has all of its rows, and switches the place at home. If that does not succeed
 * within the window, the source is open again.
 *
 * @returns undefined after the switch, or else why the window was too short
 * @throws DifferingRowsError
 */
export async function closeAndSwitch(
  sessions: MoveSessions,
  cells: MoveCells,
  options: SwitchOptions,
): Promise<string | undefined> {
  const { home, source, target } = sessions;
  const { workspaceId } = cells;
  const timeoutMs = options.windowMs + RESPONSE_MAX_MS;
  const over = new AbortController();
  const [atSource, atTarget] = [source, target].map((session) => proofSession(session, over.signal)) as [
    ProofSession,
    ProofSession,
  ];
  /** A statement that waits ends by its time limit. */
  const endProof = async (proof: ProofSession, session: AdminSession) => {
    over.abort();
    await proof.ended();
    await session.query('reset statement_timeout');
  };
  try {
    for (const session of [source, target]) {
      await session.query(`select set_config('statement_timeout', $1, false)`, [String(timeoutMs)]);
    }
    const proving = { home, source: atSource.session, target: atTarget.session };
    const reason = await inTime(proveClosed(proving, cells, options), timeoutMs);
    await endProof(atSource, source);
    if (reason === undefined) await switchPlace(home, workspaceId);
    else await reopenWorkspace(source, workspaceId);
    // The source does not wait for the target.
    await endProof(atTarget, target);
    if (reason !== undefined) return reason;
  } catch (error) {
    await reopenUnlessSwitched(home, source, workspaceId, () => endProof(atSource, source));
    await endProof(atTarget, target).catch(
      () => undefined,
    ); /* The connection is lost: the error that led here is reported. */
    throw error;
  }
  await options.onClosed?.('switched');
  return undefined;
}

const UNRESPONSIVE = 'a database does not respond';

/** A database that does not respond must not keep the workspace closed. */
async function inTime(proof: Promise<string | undefined>, timeoutMs: number): Promise<string | undefined> {
  const over = new AbortController();
  const late = pause(timeoutMs, UNRESPONSIVE, { signal: over.signal });
  late.catch(() => undefined); /* Aborted below. */
  proof.catch(() => undefined); /* Reported by the race, unless the time was over. */
  return Promise.race([proof, late])
    .catch((error: unknown) => {
      if (sqlstateOf(error) === SQLSTATE.queryCanceled) return UNRESPONSIVE;
      throw error;
    })
    .finally(() => over.abort());
}

async function proveClosed(
  sessions: MoveSessions,
  cells: MoveCells,
  { baseline, windowMs, onClosed }: SwitchOptions,
): Promise<string | undefined> {
  const { source } = sessions;
  const { workspaceId } = cells;
  const untilMs = performance.now() + windowMs;
  const leftMs = () => untilMs - performance.now();
  const isOver = () => leftMs() <= 0;
  const closedAt = await closeWorkspace(source, workspaceId);
  await onClosed?.('closed');
  const pids = await untilScopesEnded(source, workspaceId, isOver);
  if (pids.length > 0) return `the sessions with the process ids ${pids.join(', ')} still work with it at the source`;
  if (!(await untilRecorded(source, workspaceId, isOver))) return 'its changes are not recorded as events in time';
  if (!(await untilFollowed(sessions, cells, isOver))) return 'the target does not follow in time';
  await onClosed?.('followed');
  await takeOver(sessions, workspaceId);
  try {
    const differing = await differingTables(sessions, workspaceId, {
      ...{ baseline, closedAt },
      timeoutMs: Math.max(1, leftMs()),
    });
    if (differing.length > 0) {
      throw new DifferingRowsError(
        `The rows of workspace ${workspaceId} differ between the cells in: ${differing.join(', ')}. The source serves it as before.`,
      );
    }
  } catch (error) {
    if (sqlstateOf(error) === SQLSTATE.queryCanceled) return 'the comparison of its rows takes longer';
    throw error;
  }
  await onClosed?.('proved');
  return isOver() ? 'the comparison of its rows takes longer' : undefined;
}

/** If home does not answer, the switch may have happened: then the source stays closed until the command is repeated. */
async function reopenUnlessSwitched(
  home: AdminSession,
  source: AdminSession,
  workspaceId: number,
  endProof: () => Promise<void>,
): Promise<void> {
  try {
    await endProof();
    const move = await readMove(home, workspaceId);
    if (move?.step === 'close') await reopenWorkspace(source, workspaceId);
  } catch {
    // The error that led here is the one to report.
  }
}
