import { bind, sqlStatement } from '@banking/postgres';
import { currencies } from '@banking/domain';
import type { Books } from './books.js';
import type { OwnAccountKind, Proposal } from './proposal.js';

/**
 * Inserts in one order. Two batches that open the same accounts wait for each other and cannot deadlock. `on conflict` covers both
 * unique keys, the code and the kind.
 */
const OPEN_OWN_ACCOUNTS = sqlStatement(
  'open_own_accounts',
  `insert into account (workspace_id, kind, currency_id, name, type, code)
   select w, k, c, 'Bank', 'SACC', 'own-' || k || '-' || c
   from unnest($1::bigint[], $2::text[], $3::int[]) u(w, k, c)
   order by w, c, k
   on conflict do nothing`,
);

const FIND_OWN_ACCOUNTS = sqlStatement<{ workspace_id: bigint; currency_id: number; kind: OwnAccountKind; id: bigint }>(
  'find_own_accounts',
  `select a.workspace_id, a.currency_id, a.kind, a.id
   from account a
   join unnest($1::bigint[], $2::text[], $3::int[]) u(w, k, c) on (a.workspace_id, a.kind, a.currency_id) = (u.w, u.k, u.c)`,
);

export function ownAccountKey(workspaceId: number, currencyId: number, kind: OwnAccountKind): string {
  return `${workspaceId}/${currencyId}/${kind}`;
}

/**
 * Opens the own accounts that the proposals touch and reads their ids into the cache.
 *
 * Own accounts may be below zero and are never locked. An account stays open, at zero, if the posting is refused.
 */
export async function ensureOwnAccounts(books: Books, proposals: readonly Proposal[]): Promise<void> {
  const missing = new Map<string, { workspaceId: number; currencyId: number; kind: OwnAccountKind }>();
  for (const { entries } of proposals) {
    for (const { workspaceId, legs } of entries) {
      for (const { account: kind, currencyId } of legs) {
        if (typeof kind !== 'string') continue;
        const key = ownAccountKey(workspaceId, currencyId, kind);
        if (!books.ownAccounts.has(key)) missing.set(key, { workspaceId, currencyId, kind });
      }
    }
  }
  if (missing.size === 0) return;

  const wanted = [...missing.values()];
  const values = [
    wanted.map(({ workspaceId }) => workspaceId),
    wanted.map(({ kind }) => kind),
    wanted.map(({ currencyId }) => currencyId),
  ];
  const workspaces = [...new Set(wanted.map(({ workspaceId }) => workspaceId))];
  const [, found] = await books.database.pipeline({ workspaces }, [
    bind(OPEN_OWN_ACCOUNTS, ...values),
    bind(FIND_OWN_ACCOUNTS, ...values),
  ] as const);
  for (const { workspace_id, currency_id, kind, id } of found) {
    books.ownAccounts.set(ownAccountKey(Number(workspace_id), currency_id, kind), Number(id));
  }
}

const CODES: ReadonlyMap<number, string> = new Map(currencies().map(({ numeric, code }) => [numeric, code]));

/** The ISO code of a currency by its id, which is the ISO numeric code. */
export function currencyCode(currencyId: number): string {
  const code = CODES.get(currencyId);
  if (code === undefined) throw new Error(`no currency ${currencyId} in ISO 4217`);
  return code;
}
