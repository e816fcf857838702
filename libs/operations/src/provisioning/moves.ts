import { bind, sqlStatement, type Database } from '@banking/postgres';

/** A move of a workspace between cells that is not done. */
export interface MoveRow {
  readonly workspaceId: number;
  readonly from: string;
  readonly to: string;
  readonly step: string;
  /** Since when it is at the step, RFC 3339. */
  readonly since: string;
  readonly operator: string;
}

const OPEN_MOVES = sqlStatement<{ move: MoveRow }>(
  'open_moves',
  `select json_build_object('workspaceId', m.workspace_id, 'from', s.name, 'to', t.name, 'step', m.step, 'since', rfc3339(m.step_at),
            'operator', m.operator) as move
   from workspace_move m join cell s on s.number = m.source_number join cell t on t.number = m.target_number
   where m.step <> 'done' order by m.workspace_id`,
);

/** The moves that run or were interrupted, by home. */
export async function openMoves(database: Database): Promise<readonly MoveRow[]> {
  const [rows] = await database.pipeline({}, [bind(OPEN_MOVES)] as const);
  return rows.map(({ move }) => move);
}
