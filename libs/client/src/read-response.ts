import {
  approvable,
  type Approval,
  ApprovalPending,
  type Created,
  type Page,
  type RefusalDetail,
  REFUSALS,
  isRefusalReason,
  type Operation,
  type OperationName,
  type OPERATIONS,
} from '@banking/domain';
import { RemoteRefusal, ServiceError } from './errors.js';
import { nextCursor } from './pages.js';
import { type Call, nameOf, type RawResponse } from './transport.js';

/**
 * Whether a parsed JSON value contains a number above 2^53 - 1 or below -(2^53 - 1).
 *
 * `JSON.parse` silently reads 9007199254740993 as 9007199254740992. The original is lost, but both are out of range. The
 * loop does not recurse, because the sender decides how deep a response is nested.
 */
export function hasWideInteger(value: unknown): boolean {
  const holders: object[] = [[value]];
  for (const holder of holders) {
    // Without a list of the values: this loop sees every value of a response.
    for (const name in holder) {
      const inner = (holder as Readonly<Record<string, unknown>>)[name];
      if (typeof inner === 'number' && Math.abs(inner) > Number.MAX_SAFE_INTEGER) return true;
      if (typeof inner === 'object' && inner !== null) holders.push(inner);
    }
  }
  return false;
}

/** A response that arrived completely. */
export interface ReceivedResponse {
  readonly call: Call;
  readonly response: RawResponse;
  readonly bytes: ArrayBuffer;
  /** Removes the access token from a text, because a response may echo it. */
  readonly hide: (text: string) => string;
  readonly inspect: Inspect | undefined;
}

/** A success, before the call returns it. */
export interface Success {
  /** The method of the client: `getTransfer`. */
  readonly operation: string;
  readonly value: unknown;
}

/**
 * Checks every success before the call returns it.
 *
 * @returns the fault, as the rest of a sentence, which becomes a ServiceError; undefined for a valid value
 */
export type Inspect = (success: Success) => string | undefined;

export const isJson = ({ headers }: RawResponse) => JSON_TYPE.test(headers.get('content-type') ?? '');

const JSON_TYPE = /^application\/([\w.+-]+\+)?json[\t ]*(;|$)/i;

/**
 * Reads a success as JSON of the expected outer shape. Its content stays as the service wrote it, with unknown
 * fields. Missing `edges` become `{}`.
 *
 * @throws ApprovalPending for an operation that waits for approvals.
 * @throws RemoteRefusal for an error response with a known reason and the status of this reason.
 * @throws ServiceError for every other response.
 */
export function readResponse(received: ReceivedResponse, shape: 'array' | 'object'): unknown {
  const { call, response } = received;
  const { status } = response;
  const group = approvable(call.operation)?.group;
  if (status === 202 && group !== undefined && group !== 'orders') throw readPending(received);
  const isDone = status === 200 || status === 201;
  // An order that waits is an order.
  const isSuccess = call.isDeferred === true ? status === 202 : isDone || (status === 202 && group === 'orders');
  if (!isSuccess) throw failureOf(received);

  const value = readJson(received);
  const hasShape = shape === 'array' ? Array.isArray(value) : isRecord(value);
  if (!hasShape) throw invalid(received, `its body is not a JSON ${shape}`);
  if (status === 202 && group === 'orders' && !(isRecord(value) && Number.isSafeInteger(value['approvalID'])))
    throw invalid(received, 'its order names no approval');
  if (call.id !== undefined && idOf(call, value) !== call.id) throw invalid(received, 'it is of another id');
  inspected(received, call.operation, value);
  addMissingEdges(call.operation, value);
  return value;
}

/** @throws ServiceError for a body that is no JSON of the interface */
function readJson(received: ReceivedResponse): unknown {
  const { response } = received;
  if (!isJson(response)) throw invalid(received, 'its Content-Type is not JSON');
  const text = strictText(received.bytes);
  if (text === undefined) throw invalid(received, 'its body is not UTF-8');
  const value = parsed(text);
  if (value === undefined) throw invalid(received, 'its body is not valid JSON');
  if (hasWideInteger(value)) throw invalid(received, 'it holds an integer beyond 2^53 - 1');
  return value;
}

/** @throws ServiceError for a value that the caller of the client does not accept */
function inspected(received: ReceivedResponse, operation: string, value: unknown): void {
  const fault = received.inspect?.({ operation, value });
  if (fault !== undefined) throw invalid(received, fault);
}

/** The operation waits for the approval in the body. @throws ServiceError for a body without one */
function readPending(received: ReceivedResponse): ApprovalPending {
  const body = readJson(received);
  const approval = isRecord(body) ? body['approval'] : undefined;
  if (!isRecord(approval) || typeof approval['id'] !== 'number') throw invalid(received, 'its body has no approval');
  inspected(received, 'getApproval', approval);
  return new ApprovalPending(approval as unknown as Approval, isReplay(received));
}

const isReplay = ({ response }: ReceivedResponse): boolean => response.headers.get('idempotent-replayed') === 'true';

/** The interface shows no field of an order, so an order of another deployment may have no id. */
const MAY_LACK_ID = ['getOrder', 'cancelOrder', 'resumeOrder'];

function idOf({ operation, id: requested }: Call, value: unknown): unknown {
  const { id } = value as { readonly id?: unknown };
  return id === undefined && MAY_LACK_ID.includes(operation) ? requested : id;
}

/** Reads a created resource, and whether an earlier request created it. @throws as readResponse */
export function readCreated(received: ReceivedResponse): Created<unknown> {
  return { resource: readResponse(received, 'object'), isReplay: isReplay(received) };
}

/** Reads a success without a body. @throws as readResponse */
export function readNothing(received: ReceivedResponse): void {
  const { call, response } = received;
  if (response.status === 202 && approvable(call.operation)) throw readPending(received);
  if (response.status !== 204) throw failureOf(received);
}

/**
 * Reads a success as one page of a list.
 *
 * @throws as readResponse; ServiceError for a link to a next page without a cursor.
 */
export function readPage(received: ReceivedResponse): Page<unknown> {
  return { items: readResponse(received, 'array') as readonly unknown[], ...readNext(received) };
}

/** Reads a success as one page of a list that always has a next page. @throws as readPage; ServiceError without a next page */
export function readFollowedPage(received: ReceivedResponse): Page<unknown> & { readonly next: string } {
  const { items, next } = readPage(received);
  if (next === undefined) throw invalid(received, 'it has no link to a next page');
  return { items, next };
}

/** Reads a success as one page of a record. A `next` in its body is not a cursor. @throws as readPage */
export function readPagedRecord(received: ReceivedResponse): object {
  const { next: _, ...record } = readResponse(received, 'object') as { readonly next?: unknown };
  return { ...record, ...readNext(received) };
}

function readNext(received: ReceivedResponse): { readonly next?: string } {
  const next = nextCursor(received.response.headers.get('link'));
  if (next === null) throw invalid(received, 'the link to its next page has no cursor');
  return next === undefined ? {} : { next };
}

function invalid({ call, response, bytes, hide }: ReceivedResponse, fault: string): ServiceError {
  const { status } = response;
  const about = { status, requestId: requestIdOf(response, hide), body: hide(looseText(bytes)) };
  return new ServiceError(`${nameOf(call)} answered ${status}, but ${fault}.`, about);
}

/** The reason of an error response; empty without one. */
export const reasonOf = (received: ReceivedResponse) => failureOf(received).reason ?? '';

function failureOf({ call, response, bytes, hide }: ReceivedResponse): RemoteRefusal | ServiceError {
  const { status } = response;
  const text = looseText(bytes);
  const body = parsed(text, (_key, value) => hidden(value, hide));
  const { errorCode, message, reason, requestId, details } = isRecord(body) ? body : {};
  const common = {
    requestId: nonEmpty(requestId) ?? requestIdOf(response, hide),
    retryAfterSeconds: retryAfterSeconds(response.headers.get('retry-after')),
  };

  if (typeof reason === 'string' && isRefusalReason(reason) && REFUSALS[reason].status === status) {
    return new RemoteRefusal(reason, nonEmpty(message), { ...common, details: readDetails(details) });
  }
  // The message of a response that is not an error, such as a redirect, is not shown.
  const theirs = status >= 400 ? nonEmpty(message) : undefined;
  return new ServiceError(theirs ?? messageOf(nameOf(call), response), {
    ...common,
    status,
    errorCode: nonEmpty(errorCode),
    reason: nonEmpty(reason),
    body: body === undefined || hasWideInteger(body) ? hide(text) : body,
  });
}

/** Removes the token from a parsed body. Reasons of the table stay readable, even if a token equals one. */
function hidden(value: unknown, hide: ReceivedResponse['hide']): unknown {
  if (typeof value === 'string') return isRefusalReason(value) ? value : hide(value);
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), inner]))
    : value;
}

function messageOf(operation: string, { status, type }: RawResponse): string {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)) {
    return `${operation} answered with a redirect, which is not followed: check the baseUrl.`;
  }
  return `${operation} answered ${status}.`;
}

/** The details that have the shape of the interface; undefined without any. */
function readDetails(details: unknown): readonly RefusalDetail[] | undefined {
  const list = Array.isArray(details) ? details.filter(isDetail) : [];
  return list.length > 0 ? list : undefined;
}

function isDetail(value: unknown): value is RefusalDetail {
  return isRecord(value) && [value['path'], value['reason'], value['message']].every((v) => typeof v === 'string');
}

/** Retry-After in either of its forms (RFC 9110 section 10.2.3), as whole seconds from now. */
function retryAfterSeconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  const [, digits] = /^([0-9]{1,15})[\t ]*(?:,|$)/.exec(header) ?? [];
  if (digits !== undefined) return Number(digits);
  const seconds = Math.ceil((Date.parse(header) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

export function requestIdOf(response: RawResponse, hide: ReceivedResponse['hide']): string | undefined {
  return nonEmpty(hide(response.headers.get('x-request-id') ?? ''));
}

function parsed(text: string, reviver?: (key: string, value: unknown) => unknown): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}

/** One for all responses: a decoder costs more than to decode a response. */
const STRICT = new TextDecoder('utf-8', { fatal: true });

function strictText(bytes: ArrayBuffer): string | undefined {
  try {
    return STRICT.decode(bytes);
  } catch {
    return undefined;
  }
}

function looseText(bytes: ArrayBuffer): string {
  return new TextDecoder().decode(bytes);
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

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
function addMissingEdges(operation: string, body: unknown): void {
  const records: unknown[] = Object.hasOwn(WITHOUT_EDGES, operation) ? [] : [body];
  for (const record of records) {
    if (Array.isArray(record)) for (const one of record) records.push(one);
    else if (typeof record === 'object' && record !== null) {
      const edges = ((record as { edges?: Readonly<Record<string, unknown>> }).edges ??= {});
      for (const name of WITH_EDGES) records.push(edges[name]);
    }
  }
}
