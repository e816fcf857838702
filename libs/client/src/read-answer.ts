import {
  type Created,
  type Order,
  type OrderPage,
  type Page,
  type RefusalDetail,
  REFUSALS,
  isRefusalReason,
} from '@banking/domain';
import { addMissingEdges } from './edges.js';
import { RemoteRefusal, ServiceError } from './errors.js';
import { nextCursor } from './next-page.js';
import { type Call, nameOf, type RawAnswer } from './sending.js';
import { hasWideInteger } from './wide-integers.js';

/** An answer that has arrived completely. */
export interface Answer {
  readonly call: Call;
  readonly response: RawAnswer;
  readonly bytes: ArrayBuffer;
  /** Takes the access token out of a text that the answer may have echoed. */
  readonly hide: (text: string) => string;
  readonly inspect: Inspect | undefined;
}

/** A success as it came, before anybody gets it. */
export interface Success {
  /** The method of the client: `getTransfer`. */
  readonly operation: string;
  readonly value: unknown;
}

/**
 * Looks at every success before it is handed out.
 *
 * @returns what is wrong with it, as the rest of a sentence; it becomes a ServiceError that says so
 */
export type Inspect = (success: Success) => string | undefined;

export const isJson = ({ headers }: RawAnswer) => JSON_TYPE.test(headers.get('content-type') ?? '');

const JSON_TYPE = /^application\/([\w.+-]+\+)?json[\t ]*(;|$)/i;

/**
 * Reads a success as JSON of the expected outer shape. What is inside is as the service wrote it, fields this version
 * does not know included; `edges` that it left out is `{}`.
 *
 * @throws RemoteRefusal for an error answer whose reason is known, under the status the table gives it.
 * @throws ServiceError for every other answer.
 */
export function readAnswer(answer: Answer, shape: 'array' | 'object'): unknown {
  const { call, response } = answer;
  const { status } = response;
  if (status !== 200 && status !== 201) throw failureOf(answer);

  if (!isJson(response)) throw distrusted(answer, 'its Content-Type is not JSON');
  const text = strictText(answer.bytes);
  if (text === undefined) throw distrusted(answer, 'its body is not UTF-8');
  const value = parsed(text);
  if (value === undefined) throw distrusted(answer, 'its body is not valid JSON');
  if (hasWideInteger(value)) throw distrusted(answer, 'it holds an integer beyond 2^53 - 1');
  const isShape = shape === 'array' ? Array.isArray(value) : isRecord(value);
  if (!isShape) throw distrusted(answer, `its body is not a JSON ${shape}`);
  if (call.id !== undefined && idOf(call, value) !== call.id) throw distrusted(answer, 'it is of another id');
  const objection = answer.inspect?.({ operation: call.operation, value });
  if (objection !== undefined) throw distrusted(answer, objection);
  addMissingEdges(call.operation, value);
  return value;
}

/** The interface shows no field of an order, so another deployment may answer one without an id. */
const MAY_LACK_ID = ['getOrder', 'cancelOrder', 'resumeOrder'];

function idOf({ operation, id: asked }: Call, value: unknown): unknown {
  const { id } = value as { readonly id?: unknown };
  return id === undefined && MAY_LACK_ID.includes(operation) ? asked : id;
}

/** Reads what was made, and whether this request made it. @throws as readAnswer */
export function readCreated(answer: Answer): Created<unknown> {
  const isReplay = answer.response.headers.get('idempotent-replayed') === 'true';
  return { resource: readAnswer(answer, 'object'), isReplay };
}

/** A success that has nothing to say. @throws as readAnswer */
export function readNothing(answer: Answer): void {
  if (answer.response.status !== 204) throw failureOf(answer);
}

/**
 * Reads a success as one page of a list.
 *
 * @throws as readAnswer, and ServiceError where a next page is named that cannot be asked for.
 */
export function readPage(answer: Answer): Page<unknown> {
  return { items: readAnswer(answer, 'array') as readonly unknown[], ...readNext(answer) };
}

/** Reads a success as an order with one page of its executions. @throws as readPage */
export function readOrderPage(answer: Answer): OrderPage {
  const order = readAnswer(answer, 'object') as Order;
  return { order, ...readNext(answer) };
}

/** Reads a success as one page of a record. What it calls `next` itself is no cursor. @throws as readPage */
export function readPagedRecord(answer: Answer): object {
  const { next: _, ...record } = readAnswer(answer, 'object') as { readonly next?: unknown };
  return { ...record, ...readNext(answer) };
}

function readNext(answer: Answer): { readonly next?: string } {
  const next = nextCursor(answer.response.headers.get('link'));
  if (next === null) throw distrusted(answer, 'the link to its next page has no cursor');
  return next === undefined ? {} : { next };
}

function distrusted({ call, response, bytes, hide }: Answer, what: string): ServiceError {
  const { status } = response;
  const about = { status, requestId: requestIdOf(response, hide), body: hide(looseText(bytes)) };
  return new ServiceError(`${nameOf(call)} answered ${status}, but ${what}.`, about);
}

/** The reason of an error answer, empty where it gives none. */
export const reasonOf = (answer: Answer) => failureOf(answer).reason ?? '';

function failureOf({ call, response, bytes, hide }: Answer): RemoteRefusal | ServiceError {
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
  // Of what is no error, such as a redirect, the sentence is ours.
  const theirs = status >= 400 ? nonEmpty(message) : undefined;
  return new ServiceError(theirs ?? plainly(nameOf(call), response), {
    ...common,
    status,
    errorCode: nonEmpty(errorCode),
    reason: nonEmpty(reason),
    body: body === undefined || hasWideInteger(body) ? hide(text) : body,
  });
}

/** A word of the table is never hidden, so that no token can make it unreadable. Members come before what holds them. */
function hidden(value: unknown, hide: Answer['hide']): unknown {
  if (typeof value === 'string') return isRefusalReason(value) ? value : hide(value);
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), inner]))
    : value;
}

function plainly(operation: string, { status, type }: RawAnswer): string {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)) {
    return `${operation} answered with a redirect, which is not followed: check the baseUrl.`;
  }
  return `${operation} answered ${status}.`;
}

/** Details of the shape the interface gives them; undefined where there is none. */
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

export function requestIdOf(response: RawAnswer, hide: Answer['hide']): string | undefined {
  return nonEmpty(hide(response.headers.get('x-request-id') ?? ''));
}

function parsed(text: string, reviver?: (key: string, value: unknown) => unknown): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}

function strictText(bytes: ArrayBuffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
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
