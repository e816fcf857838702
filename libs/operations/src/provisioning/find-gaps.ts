import { bind, type Database, sqlStatement } from '@banking/postgres';

/** What a workspace with real money should have, and lacks. */
export interface Gap {
  readonly workspaceId: number;
  readonly kind: 'limits' | 'administrators' | 'approvals';
  /** The gap and the next step. */
  readonly detail: string;
}

interface GapRow {
  readonly detail: string;
}

const LIMITS = sqlStatement<GapRow>(
  'find_missing_limits',
  `select 'has no limits: an order may take the whole balance of its account. Set limits: PUT /limits.' as detail
   where not exists (select from limit_list m where m.workspace_id = $1 and m.limit_count > 0)`,
);

const ADMINISTRATORS = sqlStatement<GapRow>(
  'find_missing_administrators',
  `select case a.count
      when 0 then 'has no administrator: only an operator can change its members, limits and accounts. Add one: banking grant add.'
      else 'has one administrator: no other can act while that person cannot. Add another: banking grant add.' end as detail
   from (
     select count(*) from (
       select from active_role r where r.workspace_id = $1 and r.role = 'admin' order by r.user_id limit 2) r) a
   where a.count < 2`,
);

/** Groups whose operations let one administrator end the approvals of all others, or add an approver of their own. */
const UNGUARDED = sqlStatement<GapRow>(
  'find_unguarded_rules',
  `select 'has approval rules, but none for ' || string_agg(g.name, ', ' order by g.name) ||
      ': one administrator can change them alone. Add rules for them: PUT /approval-rules.' as detail
   from unnest(array['limits', 'members', 'rules']) g (name)
   where jsonb_array_length(approval_rules_in_force($1)) > 0
     and not approval_rules_in_force($1) @> jsonb_build_array(jsonb_build_object('operations', g.name))
   having count(*) > 0`,
);

/** A statement for each kind. Each row is a gap of the workspace `$1`. */
const GAPS = [
  { kind: 'limits', query: LIMITS },
  { kind: 'administrators', query: ADMINISTRATORS },
  { kind: 'approvals', query: UNGUARDED },
] as const;

/** The gaps of workspaces, in their order. */
export async function findGaps(database: Database, workspaceIds: readonly number[]): Promise<Gap[]> {
  const gaps: Gap[] = [];
  for (const workspaceId of workspaceIds) {
    const found = await database.pipeline(
      { workspaces: [workspaceId] },
      GAPS.map(({ query }) => bind(query, workspaceId)),
    );
    GAPS.forEach(({ kind }, index) =>
      gaps.push(...(found[index] ?? []).map(({ detail }) => ({ workspaceId, kind, detail }))),
    );
  }
  return gaps;
}
