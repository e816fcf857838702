import type { Operation, OperationName, OPERATIONS, Page } from '@banking/domain';

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

type GivenBy<Row> = Row extends Operation<object, infer Gives> ? Gives : never;

type RecordOf<Gives> = Gives extends Page<infer Item> ? Item : Gives extends readonly (infer Item)[] ? Item : Gives;

type WithoutEdges = {
  [Name in OperationName]: RecordOf<GivenBy<(typeof OPERATIONS)[Name]>> extends { readonly edges: unknown } | void
    ? never
    : Name;
}[OperationName];

/** Operations whose records have no `edges`: exactly those, by their types. */
const WITHOUT_EDGES: Readonly<Record<WithoutEdges, true>> = {
  ...{ listApps: true, listPurposes: true, listRecipientSchemas: true, moveClock: true },
  ...{ getLimits: true, replaceLimits: true },
  ...{ listReceivingDetails: true, listEvents: true, getEvent: true, listAuditEvents: true },
  ...{ createWebhookEndpoint: true, listWebhookEndpoints: true, getWebhookEndpoint: true, changeWebhookEndpoint: true },
  ...{ rotateWebhookSecret: true, testWebhookEndpoint: true, replayWebhookEvents: true },
  ...{ getApprovalRules: true, replaceApprovalRules: true, listApprovals: true, getApproval: true },
  ...{ decideApproval: true, withdrawApproval: true },
  ...{ listWebhookDeliveries: true, retryWebhookDelivery: true },
  ...{ listServiceAccounts: true, createServiceAccount: true, getServiceAccount: true, changeServiceAccount: true },
  ...{ listServiceAccountKeys: true, createServiceAccountKey: true, getServiceAccountKey: true },
  ...{ rotateServiceAccountKey: true },
  ...{ listMembers: true, inviteMember: true, getMember: true, changeMember: true, removeMember: true },
};

/**
 * Adds `edges: {}` to every record that another deployment sent without it, or with `null`, at every level. Our types
 * promise it.
 *
 * The loop does not recurse, because the sender decides how deep a response is nested.
 *
 * @param body as parsed; it is changed in place
 */
export function addMissingEdges(operation: string, body: unknown): void {
  const records: unknown[] = Object.hasOwn(WITHOUT_EDGES, operation) ? [] : [body];
  for (const record of records) {
    if (Array.isArray(record)) for (const one of record) records.push(one);
    else if (typeof record === 'object' && record !== null) {
      const edges = ((record as { edges?: Readonly<Record<string, unknown>> }).edges ??= {});
      for (const name of WITH_EDGES) records.push(edges[name]);
    }
  }
}
