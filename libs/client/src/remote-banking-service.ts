import {
  ApprovalPending,
  BankingService,
  type Created,
  eachOperation,
  isIdempotencyKey,
  type Operation,
  type OperationMethods,
  type OperationName,
  type OperationResult,
  OPERATIONS,
  PAGED_RESULTS,
  parametersOf,
  parseId,
  Refusal,
  type Scope,
} from '@banking/domain';
import { HttpTransport, type HttpTransportOptions } from './http-transport.js';
import {
  readCreated,
  readFollowedPage,
  readNothing,
  readPage,
  readPagedRecord,
  readResponse,
  type ReceivedResponse,
} from './read-response.js';
import type { Call, CallOptions, CreationOptions } from './transport.js';

/** A random key for a creation without a key of the caller. It works on pages without TLS, where `randomUUID` is missing. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => (byte + 256).toString(16).slice(1)).join('');
}

/** A created resource with its idempotency key: the key of the caller, or the one that the client generated. */
export interface CreationResult<T> extends Created<T> {
  readonly idempotencyKey: string;
}

type RemoteOperations = OperationMethods<
  CreationOptions,
  Pick<CreationResult<unknown>, 'idempotencyKey'>,
  [options?: CallOptions]
>;

/**
 * The port over HTTP, for programs that run on any implementation of it. Each method also takes options for one call. Deadlines,
 * retries and errors are those of `BankingClient`.
 *
 * The scope names the workspace. The token names the caller, so `scope.actor` is not sent; only a custom `fetch` sees it, in `call`.
 */
export class RemoteBankingService extends (BankingService as new (operations: RemoteOperations) => RemoteOperations) {
  /** @throws TypeError for an invalid base URL, token, timeout or number of retries. */
  constructor(options: HttpTransportOptions) {
    const transport = new HttpTransport(options);
    super(eachOperation((name) => methodOf(name, transport)) as RemoteOperations);
  }
}

const READERS: Readonly<Record<OperationResult, (received: ReceivedResponse) => unknown>> = {
  record: (received) => readResponse(received, 'object'),
  array: (received) => readResponse(received, 'array'),
  page: readPage,
  'followed page': readFollowedPage,
  'paged record': readPagedRecord,
  created: readCreated,
  nothing: readNothing,
};

type Input = Readonly<Record<string, unknown>>;

/** How the calls of an operation are made of its input. */
interface Template {
  readonly path: (input: Input) => string;
  readonly formerPath: ((input: Input) => string) | undefined;
  readonly query: (input: Input) => string;
  readonly body: ((input: Input) => Input) | undefined;
}

function templateOf({ path, formerPath, result, hasBody, query }: Operation): Template {
  const inPath = parametersOf(path);
  const isFiltered = result === 'array' || PAGED_RESULTS.includes(result);
  const outsideOfBody = [...inPath, ...(query ?? [])];
  return {
    path: fillerOf(path),
    formerPath: formerPath === undefined ? undefined : fillerOf(formerPath),
    query: (input) => {
      if (query) return searchOf(Object.fromEntries(query.map((name) => [name, input[name]])));
      return isFiltered ? searchOf(without(input, inPath)) : '';
    },
    body: hasBody ? (input) => without(input, outsideOfBody) : undefined,
  };
}

/** Made once for all clients. */
const templates = new Map<OperationName, Template>();

function knownTemplate(name: OperationName): Template {
  const known = templates.get(name);
  if (known) return known;
  const made = templateOf(OPERATIONS[name]);
  templates.set(name, made);
  return made;
}

/** Sends the calls of one operation. */
function methodOf(operation: OperationName, transport: HttpTransport) {
  const { method, access, result, returns, isDeferred }: Operation = OPERATIONS[operation];

  return async (scope: Scope, given: object = {}, { idempotencyKey, ...options }: CreationOptions = {}) => {
    const input = given as Input;
    const headers = access === 'user' ? withoutWorkspace(scope) : inWorkspace(scope);
    const { path, formerPath, query, body } = knownTemplate(operation);
    const search = query(input);
    const call: Call = {
      operation,
      method,
      ...headers,
      path: `${path(input)}${search}`,
      ...(formerPath && { formerPath: `${formerPath(input)}${search}` }),
      ...(body && { body: body(input) }),
      ...(returns !== undefined && { id: input[returns] as number }),
      ...(isDeferred && { isDeferred }),
      ...(result === 'followed page' && holdOf(input)),
    };
    if (result === 'created') return creation(transport, call, options, idempotencyKey);
    // The signal of the scope ends reads only: a write must be finished.
    const signal = method === 'GET' && access !== 'user' ? scope.signal : undefined;
    return transport.call(call, READERS[result], { signal: signal as AbortSignal | undefined, ...options });
  };
}

async function creation(
  transport: HttpTransport,
  call: Call,
  options: CallOptions,
  idempotencyKey: string = newIdempotencyKey(),
): Promise<CreationResult<unknown>> {
  if (!isIdempotencyKey(idempotencyKey)) throw new Refusal('idempotency_key_invalid');
  const created = await transport
    .call({ ...call, idempotencyKey }, READERS.created, options)
    .catch((error: unknown) => Promise.reject(withKey(error, idempotencyKey)));
  return { ...(created as Created<unknown>), idempotencyKey };
}

/** The caller repeats a request that waits for approvals with the key that was drawn for it. */
const withKey = (error: unknown, idempotencyKey: string): Error =>
  error instanceof ApprovalPending
    ? new ApprovalPending(error.approval, error.isReplay, idempotencyKey)
    : (error as Error);

/** A page that can be followed is read until the end of the hold. */
const holdOf = ({ wait }: Input) => (typeof wait === 'number' && wait > 0 ? { holdMs: wait * 1_000 } : {});

const without = (input: Input, names: readonly string[]): Input =>
  Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)));

/** The query string of the defined members, in which a list repeats its name, or an empty string. */
function searchOf(query: Input): string {
  const given = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one] as const));
  const sent = given.filter(([, value]) => value !== undefined).map(([name, value]) => [name, String(value)]);
  const text = new URLSearchParams(sent).toString();
  return text === '' ? '' : `?${text}`;
}

/** Fills in a path, relative to the base. */
function fillerOf(path: string): (input: Input) => string {
  const parts = path.slice(1).split(/[{}]/);
  return (input) => parts.map((part, index) => (index % 2 === 0 ? part : segment(part, input[part]))).join('');
}

/** Callers without types may pass anything, and only an id, or a country as one segment, may become part of a path. */
function segment(name: string, value: unknown): string {
  if (name !== 'country') return digits(name, value);
  const country = String(value);
  // An empty text, dots and lone surrogates would change the path.
  if (/^\.{0,2}$|\p{Surrogate}/u.test(country)) throw new Refusal('country_unknown');
  return encodeURIComponent(country);
}

function digits(name: string, id: unknown, reason: 'id_malformed' | 'workspace_id_invalid' = 'id_malformed'): string {
  const text = String(id);
  if (typeof id === 'number' && parseId(text) !== undefined) return text;
  const message = `${name} must be a number, whole and from 1 to ${Number.MAX_SAFE_INTEGER}.`;
  throw new Refusal(reason, message, { details: [{ path: name, reason, message }] });
}

/** The parts of a scope that become headers. */
type CallScope = Pick<Call, 'workspaceId' | 'requestId' | 'actor'>;

const withoutWorkspace = ({ requestId, actor }: Scope): CallScope => ({ requestId, actor });

function inWorkspace(scope: Scope): CallScope {
  const { workspaceId } = scope;
  if (workspaceId === undefined) throw new Refusal('workspace_id_required');
  digits('workspaceId', workspaceId, 'workspace_id_invalid');
  return { ...withoutWorkspace(scope), workspaceId };
}
