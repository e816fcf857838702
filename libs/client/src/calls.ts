import { type Created, isIdempotencyKey, type OrderPage, type Page, Refusal, type Scope } from '@banking/domain';
import { digits } from './arguments.js';
import type { Connection } from './connection.js';
import { newKey } from './policy.js';
import {
  type Answer,
  readAnswer,
  readCreated,
  readNothing,
  readOrderPage,
  readPage,
  readPagedRecord,
} from './read-answer.js';
import type { Call, CallOptions, CreationOptions } from './sending.js';

/** What was made, and the key under which it was asked for: the caller's, or the one that was made for the intent. */
export interface Made<T> extends Created<T> {
  readonly idempotencyKey: string;
}

/** Calls by what they are answered with. */
export class Calls {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  #read<T>(call: Omit<Call, 'method'> & Place, read: (answer: Answer) => unknown, options?: CallOptions): Promise<T> {
    return this.#connection.call({ ...call, method: 'GET' }, read, { signal: call.signal, ...options }) as Promise<T>;
  }

  list<T>(operation: string, place: Place, path: string, options?: CallOptions): Promise<readonly T[]> {
    return this.#read({ operation, path, ...place }, (answer) => readAnswer(answer, 'array'), options);
  }

  /** A list whose path the former revision of the interface had without `recipients/`. */
  movedList<T>(operation: string, place: Place, formerPath: string, options?: CallOptions): Promise<readonly T[]> {
    const call = { operation, path: `recipients/${formerPath}`, formerPath, ...place };
    return this.#read(call, (answer) => readAnswer(answer, 'array'), options);
  }

  page<T>(operation: string, place: Place, path: string, options?: CallOptions): Promise<Page<T>> {
    return this.#read({ operation, path, ...place }, readPage, options);
  }

  orderPage(operation: string, place: Place, path: string, options?: CallOptions, id?: number): Promise<OrderPage> {
    return this.#read({ operation, path, ...place, id }, readOrderPage, options);
  }

  pagedRecord<T>(operation: string, place: Place, path: string, options?: CallOptions): Promise<T> {
    return this.#read({ operation, path, ...place }, readPagedRecord, options);
  }

  one<T>(operation: string, place: Place, path: string, options?: CallOptions, id?: number): Promise<T> {
    return this.#read({ operation, path, ...place, id }, readRecord, options);
  }

  change<T>(
    operation: string,
    scope: Scope,
    method: 'POST' | 'PATCH',
    path: string,
    what: Pick<Call, 'body' | 'id'>,
    options?: CallOptions,
  ): Promise<T> {
    const call: Call = { operation, method, path, ...inWorkspace(scope), ...what };
    return this.#connection.call(call, readRecord, options) as Promise<T>;
  }

  async remove(operation: string, scope: Scope, path: string, options?: CallOptions): Promise<void> {
    const call: Call = { operation, method: 'DELETE', path, ...inWorkspace(scope) };
    return this.#connection.call(call, readNothing, options);
  }

  async create<T>(
    operation: string,
    scope: Scope,
    path: string,
    body: object,
    { idempotencyKey = newKey(), ...options }: CreationOptions = {},
    id?: number,
  ): Promise<Made<T>> {
    if (!isIdempotencyKey(idempotencyKey)) throw new Refusal('idempotency_key_invalid');
    const call: Call = { operation, method: 'POST', path, ...inWorkspace(scope), body, idempotencyKey, id };
    const created = await this.#connection.call(call, readCreated, options);
    return { ...(created as Created<T>), idempotencyKey };
  }
}

export type Place = Pick<Call, 'workspaceId' | 'requestId' | 'actor'> & Pick<CallOptions, 'signal'>;

const readRecord = (answer: Answer) => readAnswer(answer, 'object');

/** Of an operation that belongs to no workspace. */
export function everywhere({ requestId, actor }: Scope): Place {
  if (requestId !== undefined && !/^[\w.-]{1,128}$/.test(requestId)) {
    throw new TypeError('A requestId is 1 to 128 of A-Z, a-z, 0-9, dot, dash and underscore.');
  }
  return { requestId, actor };
}

/** A signal in the scope ends what is read of the workspace, and nothing that changes it. */
export function inWorkspace(scope: Scope): Place {
  const { workspaceId, signal } = scope;
  if (workspaceId === undefined) throw new Refusal('workspace_id_required');
  digits(workspaceId, 'workspace_id_invalid');
  return { ...everywhere(scope), workspaceId, signal };
}
