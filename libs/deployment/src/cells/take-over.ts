import { type AdminSession, SCHEMA } from '@banking/postgres';
import { asLogin, asOwner, asOwnerOf } from './act-as.js';
import { DeploymentError } from '../explain-failure.js';
import type { MoveCells, MoveSessions } from './move-record.js';
import { raiseSequences } from './step-sequences.js';

/** Transactions of one row of `unverified_posting`. */
const PART = 500;

/** Ensures that the target does not serve the workspace, also when it has its rows. */
export async function expectWorkspace(target: AdminSession, workspaceId: number): Promise<void> {
  await target.query(
    `insert into ${SCHEMA}.cell_workspace (workspace_id, state) values ($1, 'moving') on conflict do nothing`,
    [workspaceId],
  );
}

/**
 * Home may have lost the record of a switch, after a restore or the promotion of a replica that lacked it. Then the source must stay closed.
 *
 * @throws DeploymentError if the target serves the workspace
 */
export async function requireNotServed(target: AdminSession, { workspaceId, ...cells }: MoveCells): Promise<void> {
  const served = await target.query(`select from ${SCHEMA}.cell_workspace where workspace_id = $1 and state = 'open'`, [
    workspaceId,
  ]);
  if (served.length === 0) return;
  throw new DeploymentError(
    `The cell "${cells.target}" serves workspace ${workspaceId}, and home has no record of its switch. Nothing is changed. Has home lost ` +
      `commits? See docs/maintain.md, section "Several databases".`,
  );
}

/**
 * Copies what the rows of the workspace need of tables that are not replicated: the reference data that stored responses were composed
 * with, and the transactions that are still to be verified. May be repeated: it replaces what it copied before.
 *
 * Its COMMIT waits for the disk of the target, also for all that was replicated before.
 */
export async function takeOver({ source, target }: MoveSessions, workspaceId: number): Promise<void> {
  const { snapshots, unverified } = await asOwner(source, async () => ({
    snapshots: await source.query<{ version: bigint; facts: string; at: string }>(
      'select version, facts::text as facts, created_at::text as at from reference_snapshot',
    ),
    unverified: await source.query<{ id: bigint }>(
      `select distinct u.transaction_id as id
       from unverified_posting p cross join lateral unnest(p.workspace_ids, p.transaction_ids) u (workspace_id, transaction_id)
       where u.workspace_id = $1`,
      [workspaceId],
    ),
  }));
  await asLogin(target, async () => {
    await target.query('set local synchronous_commit = on');
    for (const { version, facts, at } of snapshots) {
      await target.query(
        'insert into reference_snapshot (version, facts, created_at) values ($1, $2, $3) on conflict do nothing',
        [version, facts, at],
      );
    }
    await leaveUnverified(target, workspaceId);
    await target.query(
      `insert into unverified_posting (workspace_ids, transaction_ids) select array_agg($1::bigint), array_agg(u.id)
       from unnest($2::bigint[]) with ordinality u (id, n) group by u.n / ${PART}`,
      [workspaceId, unverified.map(({ id }) => id)],
    );
    // A row that changes, so that there is something to commit.
    await target.query(`update cell_workspace set state = 'moving' where workspace_id = $1 and state = 'moving'`, [
      workspaceId,
    ]);
  });
}

/** Opens a workspace that has the state, with its codes of accounts. */
const openFrom = (state: 'moving' | 'gone') =>
  `with opened as (update cell_workspace set state = 'open' where workspace_id = $1 and state = '${state}' returning workspace_id),
     known as (
       insert into account_code (code, workspace_id, account_id, currency_id)
       select a.code, a.workspace_id, a.id, a.currency_id from account a join opened using (workspace_id) where a.kind = 'customer')
   select workspace_id from opened`;

/** Opens the workspace at its new place. May be repeated. */
export async function openMoved(target: AdminSession, workspaceId: number): Promise<void> {
  await raiseSequences(target, workspaceId);
  await asLogin(target, async () => {
    await target.query(openFrom('moving'), [workspaceId]);
    await target.query('delete from move_mark where workspace_id = $1', [workspaceId]);
  });
}

/** What waits for a worker, by the rows of its subjects. What `leaveWorkspace` deletes besides is found again by the worker, or at the network. */
const UNDONE = [
  `select workspace_id, 'payout' as kind, transaction_id as subject_id, rail, statement_timestamp() as due_at, parked_at, reason
   from payout where workspace_id = $1 and status in ('due', 'submitting', 'parked')`,
  `select workspace_id, 'crossing', transaction_id, '', statement_timestamp(), null, null
   from crossing where workspace_id = $1 and status = 'due'`,
  `select workspace_id, 'execution', id, '', scheduled_at, held.parked_at, held.reason
   from execution left join (values (statement_timestamp(), 'a cell that was lost may have made it: see banking work reconcile'))
     held (parked_at, reason) on scheduled_at <= held.parked_at
   where workspace_id = $1 and status = 'scheduled'`,
  `select workspace_id, 'approval', id, '', statement_timestamp(), null, null
   from approval where workspace_id = $1 and order_id is null and status = 'approved' and outcome is null`,
].join(' union all ');

/**
 * Serves a workspace again that has left, with its rows of then, because its new cell has lost it. The queue is made anew: the worker of the
 * new cell had it. A run that is due is parked, because it would pay again what it has paid there. Payouts and payments to other cells have
 * keys, and are paid once. Does nothing unless the workspace has left. May be repeated.
 */
export async function takeBack(source: AdminSession, workspaceId: number): Promise<void> {
  await asOwnerOf(source, workspaceId, async () => {
    if ((await source.query(openFrom('gone'), [workspaceId])).length === 0) return;
    await source.query(
      `insert into work (workspace_id, kind, subject_id, rail, due_at, parked_at, reason) ${UNDONE} on conflict do nothing`,
      [workspaceId],
    );
  });
}

/** The state of a workspace in a cell; undefined if the cell has no record of it. */
export async function stateOf(session: AdminSession, workspaceId: number): Promise<string | undefined> {
  const [row] = await asOwner(session, () =>
    session.query<{ state: string }>('select state from cell_workspace where workspace_id = $1', [workspaceId]),
  );
  return row?.state;
}

/**
 * Ends the service of a workspace in its former cell, with what other workspaces and the worker would find of it. The books stay, closed.
 * May be repeated.
 */
export async function leaveWorkspace(source: AdminSession, workspaceId: number): Promise<void> {
  await asOwnerOf(source, workspaceId, async () => {
    const left = await source.query(
      `update cell_workspace set state = 'gone' where workspace_id = $1 and state <> 'gone' returning workspace_id`,
      [workspaceId],
    );
    if (left.length === 0) return;
    await source.query('delete from account_code where workspace_id = $1', [workspaceId]);
    await source.query('delete from work where workspace_id = $1', [workspaceId]);
    await source.query('delete from webhook_due where workspace_id = $1', [workspaceId]);
    await source.query(`delete from sandbox_rail_event where not acknowledged and starts_with(key, $1)`, [
      `payout-${workspaceId}-`,
    ]);
    await source.query('delete from rail_event where starts_with(key, $1)', [`payout-${workspaceId}-`]);
    await leaveUnverified(source, workspaceId);
  });
}

/** A row may name transactions of several workspaces. */
async function leaveUnverified(session: AdminSession, workspaceId: number): Promise<void> {
  await session.query(
    `with left_out as (
       delete from ${SCHEMA}.unverified_posting where $1::bigint = any (workspace_ids) returning id, workspace_ids, transaction_ids)
     insert into ${SCHEMA}.unverified_posting (workspace_ids, transaction_ids)
     select array_agg(u.workspace_id), array_agg(u.transaction_id)
     from left_out l cross join lateral unnest(l.workspace_ids, l.transaction_ids) u (workspace_id, transaction_id)
     where u.workspace_id <> $1 group by l.id`,
    [workspaceId],
  );
}

/** The target has nothing of the workspace any more. */
export async function leaveTarget(target: AdminSession, workspaceId: number): Promise<void> {
  await asLogin(target, async () => {
    await leaveUnverified(target, workspaceId);
    await target.query(`delete from cell_workspace where workspace_id = $1 and state <> 'open'`, [workspaceId]);
  });
}
