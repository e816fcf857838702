import type { Timestamp } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';

/** Accounts read at a time. */
const PORTION = 10_000;

/** The end of the chain of a customer account. */
export interface AccountHead {
  readonly workspaceId: number;
  readonly accountId: number;
  readonly version: number;
  /** The hash of its latest transaction; `''` before the first. */
  readonly hash: string;
}

type HeadRow = readonly [workspaceId: number, accountId: number, version: number, hash: string];

const NOW = sqlStatement<{ at: Timestamp }>('heads_at_now', 'select rfc3339(now()) as at');
const HEADS = sqlStatement<{ heads: readonly HeadRow[] | null }>(
  'heads_at',
  `select json_agg(json_build_array(workspace_id, id, version, head) order by workspace_id, id) as heads
   from (select workspace_id, id, version, head from account
         where workspace_id = any($1::bigint[]) and kind = 'customer' and (workspace_id, id) > ($2, $3)
         order by workspace_id, id limit $4) a`,
);

/**
 * Reads the heads of all customer accounts of some workspaces in one snapshot.
 *
 * @param onHeads is called for portions of them, in the order of their workspaces and ids
 * @returns the time of the snapshot by the clock of the database
 */
export async function headsAt(
  database: Database,
  workspaceIds: readonly number[],
  onHeads: (heads: readonly AccountHead[]) => void | Promise<void>,
  { portion: limit = PORTION }: { readonly portion?: number } = {},
): Promise<Timestamp> {
  return database.transaction(
    { workspaces: workspaceIds },
    async (tx) => {
      const [[now]] = await tx.pipeline([bind(NOW)] as const);
      for (let last: HeadRow | undefined, isMore = true; isMore;) {
        const [workspaceId, accountId] = last ?? [0, 0];
        const [[portion]] = await tx.pipeline([bind(HEADS, workspaceIds, workspaceId, accountId, limit)] as const);
        const heads = portion?.heads ?? [];
        await onHeads(heads.map(([of, id, version, hash]) => ({ workspaceId: of, accountId: id, version, hash })));
        last = heads.at(-1);
        isMore = heads.length === limit;
      }
      return now!.at;
    },
    { snapshot: true },
  );
}
