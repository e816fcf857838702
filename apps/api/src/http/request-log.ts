import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  preSerializationHookHandler,
} from 'fastify';
import {
  isRefusalReason,
  type OperationName,
  type Origin,
  parseId,
  type Scope,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { responseChannel } from '@banking/telemetry';
import type { RequestTrace, Tracing } from '@banking/telemetry/tracing';
import type { HeaderLines } from './request-head.js';

/** The rows of a page that name persons, for the log: no values. */
interface RowsRead {
  readonly count: number;
  /** At most 100. */
  readonly ids: readonly number[];
}

declare module 'fastify' {
  /** What is found out about a request, for its later steps and for the log. */
  interface FastifyRequest {
    operation?: string;
    /** Its span, in a process that records traces. */
    trace?: RequestTrace;
    /** Set when the headers were scanned. */
    headerLines?: HeaderLines;
    /** Set when the caller's access has been checked. */
    caller?: Scope;
    /** Checks again that the caller may call the operation, for a request that was held. @throws Refusal */
    confirmAccess?: () => Promise<void>;
    /** Lets the next page be read, for a request that is held. Missing once it was called. See `PagedReads`. */
    endPagedRead?: () => void;
    /** Aborted shortly before a response is sent without the handler. Missing for a read. See `boundHandlers`. */
    deadline?: AbortSignal;
    /** The idempotency key of a creation, of its caller or of a gateway. Set before the handler runs. */
    idempotencyKey?: string | undefined;
    /** Set when the credential is verified, also if the call is refused afterwards. */
    userId?: UserId;
    /** The workspace of the header, if the user has a role there; also if the call is refused. */
    memberOf?: WorkspaceId;
    sourceAddress?: string;
    /** Set when the page of such a list was read. */
    rowsRead?: RowsRead;
    /** The credential and the source address, set with the user. */
    origin?: Origin;
    /** Why a credential was refused, as a code for the log and for metrics. */
    credentialFault?: string;
    /** The reason in the body of an error, set when the error is converted to a response. */
    reason?: string;
  }
}

/** The fields of the line. A request that matches no route has `none` as its route. */
interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  /** The time until the response was sent. Missing if the request could not be parsed. */
  readonly ms?: number;
  /** As the table of operations names it. Missing if the route is none of them. */
  readonly operation?: string | undefined;
  readonly userId?: number | undefined;
  /** The client that the token was issued to (`client_id`, or `azp`). */
  readonly clientId?: string | undefined;
  readonly workspaceId?: number | undefined;
  /** The ids in the path, by parameter, of a request whose access has been checked. */
  readonly resourceIds?: Readonly<Record<string, number>> | undefined;
  /** How many rows of a list of accounts, recipients or deposits were read, and the ids of the first. */
  readonly read?: RowsRead | undefined;
  readonly sourceAddress?: string | undefined;
  /** A row of the table of refusals, or `other` for a reason that only an upstream has. */
  readonly reason?: string | undefined;
  /** Why a credential was refused, or the code of a request that cannot be read. */
  readonly why?: string | undefined;
  /** Of its span, in a process that records traces. */
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
}

const READ_IDS_MAX = 100;

/** The lists whose rows name persons or their accounts. A single resource is named by its path. */
const LISTS_OF_PERSONS: ReadonlySet<string | undefined> = new Set([
  'listAccounts',
  'listDeposits',
  'listRecipients',
] satisfies OperationName[]);

export function logRequest(logger: FastifyBaseLogger, line: RequestLine): void {
  logger[line.status >= 500 ? 'warn' : 'info'](line, 'request');
}

/** Logs and publishes every request that reaches a hook, after its response was sent. */
export function logRequests(server: FastifyInstance): void {
  const noteRows: preSerializationHookHandler<unknown> = (request, _reply, payload, done) => {
    if (Array.isArray(payload)) request.rowsRead = rowsRead(payload);
    done(null, payload);
  };
  server.addHook('onRoute', (route) => {
    if (!LISTS_OF_PERSONS.has(route.config?.operation)) return;
    // Before the other hooks of the route, one of which makes bytes of the rows.
    route.preSerialization = [noteRows, route.preSerialization ?? []].flat();
  });
  server.addHook('onResponse', (request, reply, done) => {
    const ms = reply.elapsedTime;
    logRequest(request.log, {
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      ms: Math.round(ms * 10) / 10,
      operation: request.operation,
      userId: request.userId,
      clientId: request.origin?.clientId,
      workspaceId: request.caller?.workspaceId,
      resourceIds: resourceIdsOf(request),
      read: request.rowsRead,
      sourceAddress: request.sourceAddress,
      reason: request.reason && (isRefusalReason(request.reason) ? request.reason : 'other'),
      why: request.credentialFault,
      traceId: request.trace?.traceId,
      spanId: request.trace?.spanId,
    });
    if (responseChannel.hasSubscribers) publishResponse(request, reply, ms);
    done();
  });
}

function rowsRead(rows: readonly { readonly id?: unknown }[]): RowsRead {
  const ids = rows.slice(0, READ_IDS_MAX).map(({ id }) => id);
  return { count: rows.length, ids: ids.filter((id): id is number => Number.isSafeInteger(id)) };
}

/** Other parameters are texts of the caller. */
function resourceIdsOf({ caller, params }: FastifyRequest): Record<string, number> | undefined {
  if (caller === undefined) return undefined;
  const ids: Record<string, number> = {};
  for (const [name, text] of Object.entries(params as Readonly<Record<string, string>>)) {
    const id = parseId(text);
    if (id !== undefined) ids[name] = id;
  }
  return Object.keys(ids).length === 0 ? undefined : ids;
}

function publishResponse(request: FastifyRequest, reply: FastifyReply, ms: number): void {
  const { method, reason, credentialFault } = request;
  responseChannel.publish({
    method,
    route: request.routeOptions.url ?? 'none',
    status: reply.statusCode,
    ms,
    reason,
    credentialFault,
    isReplay: method === 'POST' && reply.hasHeader('idempotent-replayed'),
  });
}

/** Probes poll these routes. Their spans would be most of the traces of an idle service. */
const HEALTH = '/health/';

/** Gives each request a span, which is active in its hooks and its handler. Call it before hooks that may do traced work. */
export function traceRequests(server: FastifyInstance, tracing: Tracing): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { method, id: requestId, headers, routeOptions } = request;
    const route = routeOptions.url;
    if (route?.startsWith(HEALTH)) return done();
    const trace = tracing.startRequest({ method, route, requestId, headers });
    request.trace = trace;
    // Without a response there is no hook, because the caller has disconnected.
    reply.raw.once('close', () =>
      trace.end({
        status: reply.raw.headersSent ? reply.raw.statusCode : undefined,
        workspaceId: request.caller?.workspaceId,
        refusal: request.reason,
      }),
    );
    return trace.run(done);
  });
}
