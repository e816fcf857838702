/** A condition on a `workspace w`: this database serves it. Without cells, it serves all. */
export const SERVED_HERE = `(not exists (select from cell_identity)
  or exists (select from cell_workspace c where c.workspace_id = w.id and c.state = 'open'))`;
