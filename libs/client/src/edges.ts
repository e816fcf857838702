/** Related records that have `edges` of their own, by their name within `edges`. */
const WITH_EDGES = [
  'account',
  'executions',
  'internationalRemittance',
  'product',
  'recipient',
  'roles',
  'transaction',
  'transfers',
];

/** Operations whose response has no `edges`. */
const WITHOUT_EDGES = ['listApps', 'listPurposes', 'listRecipientSchemas', 'moveClock'];

/**
 * Adds `edges: {}` to every record that another deployment sent without it, or with `null`, at every level. Our types
 * promise it.
 *
 * The loop does not recurse, because the sender decides how deep a response is nested.
 *
 * @param body as parsed; it is changed in place
 */
export function addMissingEdges(operation: string, body: unknown): void {
  const records = WITHOUT_EDGES.includes(operation) ? [] : [body].flat();
  for (const record of records) {
    if (typeof record !== 'object' || record === null) continue;
    const holder = record as { edges?: Readonly<Record<string, unknown>> };
    holder.edges ??= {};
    for (const name of WITH_EDGES) {
      const inner = holder.edges[name];
      if (inner) for (const one of [inner].flat()) records.push(one);
    }
  }
}
