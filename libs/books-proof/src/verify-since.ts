import type { Finding } from '@banking/ledger';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import type { Anchor } from './anchor.js';

export const SINCE_CHECK = 'every account and every trail still has what the anchor says';

/** Heads that one statement looks up. */
const PORTION = 1_000;

interface Compared {
  readonly findings: readonly Finding[];
  /** Trails whose anchored entry was deleted because of its age, a sentence each. Nothing is proved of what was before their beginning. */
  readonly notCompared: readonly string[];
}

interface HeadRow {
  readonly account_id: bigint;
  readonly is_there: boolean;
  readonly is_same: boolean | null;
}

const COMPARE_HEADS = sqlStatement<HeadRow>(
  'compare_anchored_heads',
  `select h.account_id, a.id is not null as is_there, x.hash = decode(h.hash, 'hex') as is_same
   from unnest($2::bigint[], $3::bigint[], $4::text[]) h (account_id, version, hash)
     left join account a on a.workspace_id = $1 and a.id = h.account_id
     left join transfer t on t.workspace_id = $1 and t.account_id = h.account_id and t.account_version = h.version
     left join transaction x on x.workspace_id = $1 and x.id = t.transaction_id
   where a.id is null or h.version > 0 and x.hash is distinct from decode(h.hash, 'hex')`,
);

interface TrailRow {
  readonly start_id: bigint;
  readonly end_id: bigint;
  readonly hash: string | null;
  readonly is_old: boolean;
}

/** Nothing deletes an entry that is younger than a year. */
const ANCHORED_AUDIT = sqlStatement<TrailRow>(
  'anchored_audit_entry',
  `select h.start_id, h.id as end_id,
     case when h.start_id = $2 then h.start_hash
       else (select e.hash from audit_event e where e.workspace_id = $1 and e.id = $2) end as hash,
     $3::timestamptz < statement_timestamp() - interval '365 days' as is_old
   from audit_head h where h.workspace_id = $1`,
);

const ANCHORED_DIRECTORY = sqlStatement<{ hash: string }>(
  'anchored_directory_entry',
  'select hash from directory_chain($1::bigint - 1, 1) where id = $1',
);

/**
 * Compares workspaces in a database with an anchor: each account has the anchored hash at the anchored version, and each audit trail the
 * anchored hash at the anchored entry. Together with the verified chains, nothing before the anchor was changed or cut.
 *
 * @param workspaceIds those of the database; workspaces without heads in the anchor are left out
 */
export async function verifySince(
  database: Database,
  workspaceIds: readonly number[],
  anchor: Anchor,
): Promise<Compared> {
  const findings: Finding[] = [];
  const notCompared: string[] = [];
  for (const workspaceId of workspaceIds) {
    const heads = anchor.workspaces.get(workspaceId);
    if (!heads) continue;
    const found = (detail: string) => findings.push({ check: SINCE_CHECK, workspaceId, detail });
    for (const detail of await differingHeads(database, workspaceId, [...heads])) found(detail);
    const { id, hash } = anchor.audits.get(workspaceId)!;
    if (id === 0) continue;
    const [[row]] = await database.pipeline({ workspaces: [workspaceId] }, [
      bind(ANCHORED_AUDIT, workspaceId, id, anchor.anchoredAt),
    ] as const);
    const isDeleted = row !== undefined && Number(row.start_id) > id;
    if (isDeleted && row.is_old)
      notCompared.push(`entry ${id} of the audit trail of workspace ${workspaceId} was deleted because of its age`);
    else if (isDeleted) found(`the audit trail begins after entry ${id} of the anchor, which is not a year old`);
    else if (row === undefined || Number(row.end_id) < id)
      found(`the audit trail ends before entry ${id} of the anchor: entries were cut`);
    else if (row.hash !== hash)
      found(`entry ${id} of the audit trail has another hash than in the anchor: an entry up to it was changed`);
  }
  return { findings, notCompared };
}

async function differingHeads(
  database: Database,
  workspaceId: number,
  heads: readonly (readonly [number, { readonly version: number; readonly hash: string }])[],
): Promise<string[]> {
  const details: string[] = [];
  for (let first = 0; first < heads.length; first += PORTION) {
    const portion = heads.slice(first, first + PORTION);
    const [rows] = await database.pipeline({ workspaces: [workspaceId] }, [
      bind(
        COMPARE_HEADS,
        workspaceId,
        portion.map(([id]) => id),
        portion.map(([, { version }]) => version),
        portion.map(([, { hash }]) => hash),
      ),
    ] as const);
    for (const { account_id: id, is_there: isThere, is_same: isSame } of rows) {
      if (!isThere) details.push(`account ${id} is in the anchor and not in the database`);
      else if (isSame === null)
        details.push(`account ${id} ends before its version in the anchor: transactions were cut`);
      else details.push(`account ${id} has another hash than in the anchor: a transaction up to it was changed`);
    }
  }
  return details;
}

/** A workspace without accounts may be removed. Its entry is on the chain, which is verified. */
const REMOVED = sqlStatement<{ id: bigint }>(
  'removed_workspaces',
  `select distinct (record ->> 'id')::bigint as id from directory_change
   where relation = 'workspace' and action = 'delete' and (record ->> 'id')::bigint = any($1::bigint[])`,
);

/**
 * Compares the directory with an anchor, in the database that has it: the trail has the anchored entry, and each workspace is there, or was
 * removed by an operator.
 *
 * @param workspaceIds all workspaces of the deployment
 */
export async function verifyDirectorySince(
  database: Database,
  { directory: { id, hash }, workspaces }: Anchor,
  workspaceIds: readonly number[],
): Promise<Finding[]> {
  const present = new Set(workspaceIds);
  const absent = [...workspaces.keys()].filter((workspaceId) => !present.has(workspaceId));
  const [rows] = await database.pipeline({}, [bind(REMOVED, absent)] as const);
  const removed = new Set(rows.map((row) => Number(row.id)));
  const details = absent
    .filter((workspaceId) => !removed.has(workspaceId) || workspaces.get(workspaceId)!.size > 0)
    .map((workspaceId) => `workspace ${workspaceId} is in the anchor and not in the directory`);
  if (id > 0) {
    const row = await database.read({}, bind(ANCHORED_DIRECTORY, id));
    if (row === undefined) details.push(`the trail of the directory lacks entry ${id} of the anchor: entries were cut`);
    else if (row.hash !== hash) {
      details.push(
        `entry ${id} of the trail of the directory has another hash than in the anchor: an entry up to it was changed`,
      );
    }
  }
  return details.map((detail) => ({ check: SINCE_CHECK, detail }));
}
