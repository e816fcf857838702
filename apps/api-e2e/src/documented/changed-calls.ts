import type { ErrorBody } from '@banking/domain';
import { ADA, BOB, DANA, EVE, type Service } from '../service.js';
import type { Call, DocumentedOperation, Route } from './document.js';
import {
  DELIVERED,
  EXPIRED_QUOTE,
  FIRST_OF_FULL,
  FULL_ENDPOINT,
  FULL_OF_ENDPOINTS,
  FULL_OF_INVITATIONS,
  FULL_OF_KEYS,
  FULL_RECIPIENT,
  NO_WAY_BACK,
  PAID_IN_GEL,
  REMOVED_MEMBER,
  WITHOUT_EVENT,
  WITHOUT_ROLE,
} from './more-world.js';
import { type RawResponse, sendRawRequest } from '../hostile/raw-request.js';

/** A call with a body that may be no JSON. */
export interface Attempt extends Call {
  readonly text?: string;
  readonly type?: string;
}

/** Changes a valid call, so that it is refused for a reason. */
type Change = (call: Attempt, route: Route) => Attempt;

const withHeader =
  (name: string, value: string): Change =>
  (call) => ({ ...call, headers: { ...call.headers, [name]: value } });
/** Another value for the first parameter of the path. */
const pathWith =
  (value: string): Change =>
  (call, { path }) => {
    const [parts = '', query] = call.path.split('?');
    const at = path.split('/').findIndex((part) => part.startsWith('{'));
    const changed = parts.split('/').with(at, value).join('/');
    return { ...call, path: query === undefined ? changed : `${changed}?${query}` };
  };

const withParameter =
  (name: string, value: string): Change =>
  (call) => {
    const [path = '', query] = call.path.split('?');
    const parameters = new URLSearchParams(query);
    parameters.set(name, value);
    return { ...call, path: `${path}?${parameters.toString()}` };
  };

export const withField =
  (name: string, value: unknown): Change =>
  (call) => ({ ...call, body: { ...(call.body as object), [name]: value } });
const inPathOrQuery =
  (parameter: string, value: string): Change =>
  (call, route) =>
    (route.path.includes('{') ? pathWith(value) : withParameter(parameter, value))(call, route);

const withFields =
  (fields: Readonly<Record<string, unknown>>): Change =>
  (call) => ({ ...call, body: { ...(call.body as object), ...fields } });

/** Changes the order, and keeps the account of the call. */
const withOrder =
  (orderId: number): Change =>
  (call) => ({ ...call, path: call.path.replace(/\/orders\/\d+/, `/orders/${orderId}`) });

/** Changes the delivery, and keeps the endpoint of the call. */
const withDelivery =
  (deliveryId: number): Change =>
  (call) => ({ ...call, path: call.path.replace(/\/deliveries\/\d+/, `/deliveries/${deliveryId}`) });

/** Changes the key, and keeps the service account of the call. */
const withKey =
  (keyId: number): Change =>
  (call) => ({ ...call, path: call.path.replace(/\/keys\/\d+/, `/keys/${keyId}`) });

/** Changes the field of the body of a POST, else the path or the filter of a list. */
const inPathQueryOrBody =
  (parameter: string, value: number): Change =>
  (call, route) =>
    route.path === '/quotes'
      ? withField(parameter.replace(/Id$/, 'ID'), value)(call, route)
      : inPathOrQuery(parameter, String(value))(call, route);

/** Changes the quote to a currency instead of a recipient. */
const quotedIn =
  (targetCurrency: string): Change =>
  (call) => {
    const { recipientID: _, ...body } = call.body as Readonly<Record<string, unknown>>;
    return { ...call, body: { ...body, targetCurrency } };
  };

/** Changes the rules to one with these conditions. */
/** Replaces the rules of the example, which are in force. */
const withRule = (conditions: object): Change =>
  withFields({ version: 1, rules: [{ operations: 'orders', approvals: 1, roles: ['approver'], ...conditions }] });

const withoutBeneficiaryName = (call: Attempt): Attempt => {
  const body = call.body as { readonly data: Readonly<Record<string, string>> };
  const { beneficiaryName: _, ...data } = body.data;
  return { ...call, body: { ...body, data } };
};

/** A query parameter with an enumeration. */
const choiceOf = ({ operation }: Route): string =>
  ['payoutMethod', 'saved', 'direction', 'status', 'resourceType', 'countryCode'].find((name) =>
    operation.parameters.some((parameter) => parameter.name === name),
  ) ?? '';

const isOfAudit = ({ path }: Route): boolean => path === '/audit-events';

/** The change that makes a valid call refused, by the reason. */
export const CHANGES: Readonly<Record<string, Change>> = {
  request_malformed: withHeader('not a header', ''),
  header_repeated: withHeader('Accept', '*/*\r\nAccept: application/json'),
  not_authenticated: (call) => ({ ...call, needsToken: false }),
  not_acceptable: withHeader('Accept', 'text/html'),
  id_malformed: (call, route) =>
    isOfAudit(route)
      ? withParameter('actor', '1.5')(call, route)
      : inPathOrQuery(route.path === '/events' ? 'resourceId' : 'accountId', '1.5')(call, route),
  parameter_unknown: withParameter('colour', 'blue'),
  parameter_repeated: (call, route) => {
    const choice = choiceOf(route);
    const name = ['payoutMethod', 'countryCode'].includes(choice) ? choice : 'limit';
    const once = withParameter(name, '1')(call, route);
    return { ...once, path: `${once.path}&${name}=1` };
  },
  parameter_invalid: (call, route) =>
    isOfAudit(route)
      ? withParameter('operation', ' ')(call, route)
      : withParameter(choiceOf(route), 'sideways')(call, route),
  limit_invalid: withParameter('limit', '501'),
  cursor_invalid: withParameter('cursor', 'AAAA'),
  timestamp_invalid: (call, route) => {
    if (route.path.endsWith('/clock')) return withField('now', '2026-11-31')(call, route);
    if (route.path.startsWith('/service-accounts')) return withField('expiresAt', '2026-11-31')(call, route);
    if (route.path.endsWith('/replay')) return withField('createdFrom', '2026-11-31')(call, route);
    if (route.method === 'POST') return withField('startAt', '2026-11-31')(call, route);
    const isFrom = route.path.endsWith('/statement') || isOfAudit(route);
    return withParameter(isFrom ? 'from' : 'createdFrom', '2026-11-31')(call, route);
  },
  account_not_found: (call, route) =>
    route.path === '/approval-rules'
      ? withRule({ accountID: 999_999 })(call, route)
      : inPathQueryOrBody('accountId', 999_999)(call, route),
  recipient_not_found: inPathOrQuery('recipientId', '999999'),
  recipient_invalid: (call, route) => {
    if (route.path.endsWith('/international')) return withoutBeneficiaryName(call);
    const [field, value] = route.path.endsWith('/internal') ? ['accountCode', 'NW0'] : ['recipientID', 999_999];
    return withField(String(field), value)(call, route);
  },
  role_insufficient: (call) => call,
  body_malformed: (call) => ({ ...call, text: '{' }),
  field_unknown: withField('colour', 'blue'),
  payload_too_large: (call) => ({ ...call, text: ' '.repeat(64 * 1024 + 1) }),
  unsupported_media_type: (call) => ({ ...call, type: 'text/plain' }),
  idempotency_key_invalid: withHeader('Idempotency-Key', 'two words'),
  product_unavailable: withField('productID', 999_999),
  amount_malformed: withField('amount', '10.00'),
  amount_out_of_range: withField('amount', '9223372036854775808'),
  amount_below_minimum: withField('amount', '1'),
  amount_above_maximum: withField('amount', '9223372036854775807'),
  currency_unknown: quotedIn('XXX'),
  rate_unavailable: (call, route) =>
    route.path === '/quotes' ? quotedIn('GEL')(call, route) : withField('recipientID', PAID_IN_GEL)(call, route),
  // The recipient of the demo data that is an account of the service, so that no corridor refuses the order first.
  insufficient_funds: withFields({ recipientID: 1, amount: '900000000' }),
  // Above the limit of the example of `replaceLimits`, which `makeMore` sets.
  limit_exceeded: withFields({ recipientID: 1, amount: '1000000001' }),
  payment_limit_invalid: withField('limits', [{ scope: 'account', metric: 'count', per: 'day', value: '1' }]),
  version_conflict: withFields({ version: 999_999, limits: [] }),
  purpose_code_required: withField('purposeCode', undefined),
  purpose_code_invalid: withField('purposeCode', 'IR999'),
  schedule_invalid: withField('startAt', '2099-01-31T09:00:00Z'),
  quote_unusable: withField('quoteID', 999_999),
  quote_used: withField('quoteID', 1),
  quote_expired: withField('quoteID', EXPIRED_QUOTE),
  external_reference_reused: withField('externalReference', 'FAMILY-1'),
  order_not_found: withOrder(999_999),
  // The cancelled order of the demo data.
  order_not_cancellable: withOrder(4),
  // The order of the demo data that runs once.
  order_not_paused: withOrder(3),
  quote_not_found: pathWith('999999'),
  balance_limit_exceeded: (call, route) => {
    if (route.path.endsWith('/events')) return pathWith(String(NO_WAY_BACK))(call, route);
    if (route.path.endsWith('/orders')) return withField('recipientID', FULL_RECIPIENT)(call, route);
    if (route.path === '/quotes')
      return withFields({ recipientID: FULL_RECIPIENT, amount: '9007199254740992' })(call, route);
    // With the balances of the demo data, one too many.
    return withField('amount', '9007199254740991')(call, route);
  },
  workspace_id_required: (call) => ({ ...call, headers: {} }),
  workspace_id_invalid: withHeader('Workspace-ID', 'Northwind'),
  workspace_forbidden: withHeader('Workspace-ID', '999999'),
  app_not_found: pathWith('999999'),
  transfer_not_found: pathWith('999999'),
  deposit_not_found: pathWith('999999'),
  transaction_not_found: pathWith('999999'),
  advice_not_found: pathWith('10'),
  event_not_found: (call, route) =>
    (route.path.startsWith('/events') ? pathWith('999999') : withDelivery(WITHOUT_EVENT))(call, route),
  approval_not_found: pathWith('999999'),
  approval_changed: withField('version', 999_999),
  member_not_found: pathWith('999999'),
  // The address of Bob, who is a member.
  member_exists: withField('email', BOB),
  invitation_limit: withHeader('Workspace-ID', String(FULL_OF_INVITATIONS)),
  member_removed: pathWith(String(REMOVED_MEMBER)),
  invitation_not_found: withField('code', `inv_${'A'.repeat(43)}`),
  webhook_endpoint_not_found: pathWith('999999'),
  webhook_delivery_not_found: withDelivery(999_999),
  webhook_delivered: withDelivery(DELIVERED),
  // The disabled endpoint.
  webhook_endpoint_disabled: pathWith('2'),
  webhook_endpoint_limit: withHeader('Workspace-ID', String(FULL_OF_ENDPOINTS)),
  webhook_delivery_limit: (call, route) =>
    pathWith(String(FULL_ENDPOINT))(withHeader('Workspace-ID', String(FULL_OF_ENDPOINTS))(call, route), route),
  webhook_replay_limit: withFields({ createdFrom: '2101-01-01T00:00:00Z', createdTo: '2101-01-02T00:00:00Z' }),
  webhook_url_refused: withField('url', 'http://hooks.northwind.example/banking'),
  service_account_not_found: pathWith('999999'),
  service_account_limit: withHeader('Workspace-ID', String(FULL_OF_ENDPOINTS)),
  service_account_without_role: pathWith(String(WITHOUT_ROLE)),
  key_not_found: withKey(999_999),
  key_limit: (call, route) => pathWith(String(FULL_OF_KEYS))(withKey(FIRST_OF_FULL)(call, route), route),
  network_invalid: withField('networks', ['203.0.113.0/33']),
  clock_invalid: withField('now', '2020-01-01T00:00:00Z'),
  country_unknown: (call, route) =>
    (route.path.includes('{country}') ? pathWith('ZZ') : withParameter('countryCode', 'ZZ'))(call, route),
  corridor_not_found: withParameter('currencyCode', 'CHF'),
};

/** The caller of a refused operation. The default is the admin. */
export const callerFor = (reason: string, { operation }: Route): string => {
  if (reason === 'invitation_limit') return EVE;
  if (reason !== 'role_insufficient') return ADA;
  // Dana decides on approvals.
  return operation.operationId === 'decideApproval' ? BOB : DANA;
};

/** What only a person may do, and a gateway does for no one. */
export const NOT_THROUGH_GATEWAY: readonly string[] = ['acceptInvitation', 'decideApproval', 'withdrawApproval'];

/** The status of a response that is this one without a gateway: a gateway refuses what it does not do before it looks for it. */
export const statusAt = ({ behind }: Pick<Service, 'behind'>, operation: string | undefined, status: number): number =>
  behind !== undefined && status === 404 && NOT_THROUGH_GATEWAY.includes(operation ?? '') ? 403 : status;

/** By reason, the operation that is refused for it to keys alone: see keys.spec.ts. */
export const OF_KEYS: Readonly<Record<string, string>> = { role_insufficient: 'acceptInvitation' };

/** Refusals whose cause is not in the call. */
export const CIRCUMSTANCES = [
  // Of people and their roles: see approved-orders.spec.ts and approved-changes.spec.ts of the operations.
  'approver_is_maker',
  'not_through_gateway',
  'approval_closed',
  'approval_expired',
  'approval_impossible',
  'rate_limited',
  'unavailable',
  'outcome_unknown',
  'internal_error',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'account_disabled',
  'corridor_disabled',
  // Of a live deployment without a payment network: see mode.spec.ts.
  'payouts_unavailable',
  // Of a live deployment without a key: see webhook-endpoints.spec.ts.
  'webhooks_unavailable',
  'cursor_expired',
  // Of lists with very many rows: see two-filters.spec.ts of the operations.
  'filters_too_slow',
  // Of a token or a key with scopes, and of an operation that STEP_UP names: see several-issuers.spec.ts.
  'scope_insufficient',
  'step_up_required',
  // Of a workspace with one administrator: see members.spec.ts.
  'last_admin',
];

/**
 * Rows that no operation documents, because they come before routing or from a library without HTTP. Each has the spec that
 * provokes it, and words of that spec.
 */
export const ELSEWHERE: Readonly<Record<string, readonly [spec: string, word: string]>> = {
  route_not_found: ['apps/api-e2e/src/hostile/cases.ts', "'route_not_found'"],
  method_not_allowed: ['apps/api-e2e/src/hostile/cases.ts', "'method_not_allowed'"],
  uri_too_long: ['apps/api-e2e/src/hostile/cases.ts', "'uri_too_long'"],
  headers_too_large: ['apps/api-e2e/src/hostile/cases.ts', "'headers_too_large'"],
  precondition_failed: ['apps/api-e2e/src/hostile/hostile.spec.ts', "'precondition_failed'"],
  // Node responds without a body.
  request_timeout: ['apps/api-e2e/src/hostile/hostile.spec.ts', '408'],
  // Of a gateway only.
  upstream_error: ['apps/api/src/gateway/upstream-failure.spec.ts', "reason: 'upstream_error'"],
  upstream_timeout: ['apps/api/src/gateway/upstream-failure.spec.ts', "reason: 'upstream_timeout'"],
  amount_too_precise: ['libs/domain/src/display.spec.ts', "'amount_too_precise'"],
};

/**
 * The refusal of malformed input without the name of the parameter or field and its rule. All operations share the example of a reason,
 * which names one of them.
 */
export function withoutName({ details, message, ...refusal }: ErrorBody): object {
  const [first] = details ?? [];
  if (first === undefined) return { ...refusal, message };
  const name = nameOf(first.path);
  const withoutRule = (text: string) => text.replaceAll(name, '<name>').replace(/ must be .*/, ' must be <rule>.');
  return {
    ...refusal,
    message: withoutRule(message),
    details: details?.map((detail) => ({ ...detail, path: '<name>', message: withoutRule(detail.message) })),
  };
}

/** The names in a refusal of malformed input that the operation neither has nor refuses as unknown. */
export function strangeNames({ parameters, requestBody }: DocumentedOperation, { details = [] }: ErrorBody): string[] {
  const bodies = Object.values(requestBody?.content['application/json'].examples ?? {}).map(
    ({ value }) => value as object,
  );
  const known = [...parameters.map(({ name }) => name), ...bodies.flatMap(Object.keys)];
  return details
    .filter(({ reason }) => !['parameter_unknown', 'field_unknown'].includes(reason))
    .map(({ path }) => nameOf(path))
    .filter((name) => !known.includes(name));
}

const nameOf = (path: string) => path.replace(/^\//, '');

/** Sends a call with raw headers, which may be empty or contain a line break. */
export async function sendAttempt(
  { url, tokenOf }: Pick<Service, 'url' | 'tokenOf'>,
  { method, path, headers, needsToken, body, text, type }: Attempt,
  email: string,
): Promise<RawResponse> {
  const lines = Object.entries(headers).map(([name, value]) => (value === '' ? name : `${name}: ${value}`));
  const token = needsToken ? [`Authorization: Bearer ${await tokenOf(email)}`] : [];
  const sent = text ?? (body === undefined ? '' : JSON.stringify(body));
  const framing =
    sent === '' ? [] : [`Content-Type: ${type ?? 'application/json'}`, `Content-Length: ${Buffer.byteLength(sent)}`];
  return sendRawRequest(url, { method, path, headers: [...lines, ...token, ...framing], body: sent });
}
