import {
  type OrderName,
  parseId,
  Refusal,
  type Created,
  isIdempotencyKey,
  type Page,
  type Scope,
} from '@banking/domain';
import type { HttpTransport } from './http-transport.js';
import { newIdempotencyKey } from './new-idempotency-key.js';
import {
  type ReceivedResponse,
  readResponse,
  readCreated,
  readFollowedPage,
  readNothing,
  readPage,
  readPagedRecord,
} from './read-response.js';
import type { Call, CallOptions, CreationOptions } from './transport.js';

/** The query string of the defined members, in which a list repeats its name, or an empty string. */
export function search(query: object): string {
  const given = Object.entries(query as Readonly<Record<string, unknown>>).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one] as const),
  );
  const sent = given.filter(([, value]) => value !== undefined).map(([name, value]) => [name, String(value)]);
  const text = new URLSearchParams(sent).toString();
  return text === '' ? '' : `?${text}`;
}

/** An id in a path. Callers without types may pass anything, and only an id may become part of a path. */
export function digits(id: number, reason: 'id_malformed' | 'workspace_id_invalid' = 'id_malformed'): string {
  const text = String(id);
  if (typeof id !== 'number' || parseId(text) === undefined) throw new Refusal(reason);
  return text;
}

export const orderPath = ({ accountId, orderId }: OrderName): string =>
  `accounts/${digits(accountId)}/orders/${digits(orderId)}`;

/** A country as one segment of a path. An empty text, dots and lone surrogates are refused: they would change the path. */
export function segment(country: string): string {
  if (/^\.{0,2}$|\p{Surrogate}/u.test(country)) throw new Refusal('country_unknown');
  return encodeURIComponent(country);
}

/** A created resource with its idempotency key: the key of the caller, or the one that the client generated. */
export interface CreationResult<T> extends Created<T> {
  readonly idempotencyKey: string;
}

/** Sends calls, and reads the response of each kind of operation. */
export class Calls {
  readonly #transport: HttpTransport;

  constructor(transport: HttpTransport) {
    this.#transport = transport;
  }

  #read<T>(
    operation: string,
    scope: CallScope,
    path: string,
    read: (received: ReceivedResponse) => unknown,
    options?: CallOptions,
    id?: number,
    formerPath?: string,
  ): Promise<T> {
    const call: Call = { operation, method: 'GET', path, ...scope, id, formerPath };
    return this.#transport.call(call, read, { signal: scope.signal, ...options }) as Promise<T>;
  }

  list<T>(operation: string, scope: CallScope, path: string, options?: CallOptions): Promise<readonly T[]> {
    return this.#read(operation, scope, path, readArray, options);
  }

  /** A list whose path had no `recipients/` in the former revision of the interface. */
  movedList<T>(operation: string, scope: CallScope, formerPath: string, options?: CallOptions): Promise<readonly T[]> {
    return this.#read(operation, scope, `recipients/${formerPath}`, readArray, options, undefined, formerPath);
  }

  page<T>(operation: string, scope: CallScope, path: string, options?: CallOptions): Promise<Page<T>> {
    return this.#read(operation, scope, path, readPage, options);
  }

  /** A page of a list that can be followed. It is read until the end of the hold. */
  followedPage<T>(
    operation: string,
    scope: CallScope,
    path: string,
    holdMs: number,
    options?: CallOptions,
  ): Promise<Page<T> & { readonly next: string }> {
    const call: Call = { operation, method: 'GET', path, ...scope, ...(holdMs > 0 && { holdMs }) };
    const read = this.#transport.call(call, readFollowedPage, { signal: scope.signal, ...options });
    return read as Promise<Page<T> & { readonly next: string }>;
  }

  pagedRecord<T>(operation: string, scope: CallScope, path: string, options?: CallOptions, id?: number): Promise<T> {
    return this.#read(operation, scope, path, readPagedRecord, options, id);
  }

  get<T>(operation: string, scope: CallScope, path: string, options?: CallOptions, id?: number): Promise<T> {
    return this.#read(operation, scope, path, readRecord, options, id);
  }

  change<T>(
    operation: string,
    scope: Scope,
    method: 'POST' | 'PATCH',
    path: string,
    parts: Pick<Call, 'body' | 'id' | 'isDeferred'>,
    options?: CallOptions,
  ): Promise<T> {
    const call: Call = { operation, method, path, ...inWorkspace(scope), ...parts };
    return this.#transport.call(call, readRecord, options) as Promise<T>;
  }

  async remove(operation: string, scope: Scope, path: string, options?: CallOptions): Promise<void> {
    const call: Call = { operation, method: 'DELETE', path, ...inWorkspace(scope) };
    return this.#transport.call(call, readNothing, options);
  }

  async create<T>(
    operation: string,
    scope: Scope,
    path: string,
    body: object,
    { idempotencyKey = newIdempotencyKey(), ...options }: CreationOptions = {},
    id?: number,
  ): Promise<CreationResult<T>> {
    if (!isIdempotencyKey(idempotencyKey)) throw new Refusal('idempotency_key_invalid');
    const call: Call = { operation, method: 'POST', path, ...inWorkspace(scope), body, idempotencyKey, id };
    const created = await this.#transport.call(call, readCreated, options);
    return { ...(created as Created<T>), idempotencyKey };
  }
}

/** The parts of a scope that become headers, or end a read. */
type CallScope = Pick<Call, 'workspaceId' | 'requestId' | 'actor'> & Pick<CallOptions, 'signal'>;

const readArray = (received: ReceivedResponse) => readResponse(received, 'array');
const readRecord = (received: ReceivedResponse) => readResponse(received, 'object');

/** The scope of an operation without a workspace. */
export function withoutWorkspace({ requestId, actor }: Scope): CallScope {
  return { requestId, actor };
}

/** The scope of an operation in a workspace. Its signal ends reads only: a write must be finished. */
export function inWorkspace(scope: Scope): CallScope {
  const { workspaceId, signal } = scope;
  if (workspaceId === undefined) throw new Refusal('workspace_id_required');
  digits(workspaceId, 'workspace_id_invalid');
  return { ...withoutWorkspace(scope), workspaceId, signal };
}
