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
const WITHOUT_EDGES = [
  ...['getEvent', 'listApps', 'listEvents', 'listPurposes', 'listRecipientSchemas', 'moveClock'],
  ...['createWebhookEndpoint', 'listWebhookEndpoints', 'getWebhookEndpoint', 'changeWebhookEndpoint'],
  ...['rotateWebhookSecret', 'testWebhookEndpoint', 'replayWebhookEvents', 'listWebhookDeliveries'],
  'retryWebhookDelivery',
];

/**
 * Adds `edges: {}` to every record that another deployment sent without it, or with `null`, at every level. Our types
 * promise it.
 *
 * The loop does not recurse, because the sender decides how deep a response is nested.
 *
 * @param body as parsed; it is changed in place
 */
export function addMissingEdges(operation: string, body: unknown): void {
  const records: unknown[] = WITHOUT_EDGES.includes(operation) ? [] : [body];
  for (const record of records) {
    if (Array.isArray(record)) for (const one of record) records.push(one);
    else if (typeof record === 'object' && record !== null) {
      const edges = ((record as { edges?: Readonly<Record<string, unknown>> }).edges ??= {});
      for (const name of WITH_EDGES) records.push(edges[name]);
    }
  }
}
