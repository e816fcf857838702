import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { type BankingClientOptions, RemoteBankingService } from '@banking/client';
import { ADMINISTRATORS_GROUPS, type Approval, BankingService, Refusal, type Scope } from '@banking/domain';
import type { FastifyInstance } from 'fastify';
import type { Implementation } from '../banking.module.js';
import { TRANSLATE_ERROR } from '../http/refusal.filter.js';
import type { Caller } from '../access/access-check.js';
import { HANDLER_TIMEOUT_MS } from '../http/limits.js';
import { sentKey } from '../input/creation.js';
import { checkUpstream, RequestLoopDetector, upstreamReadiness } from './check-upstream.js';
import type { UpstreamConfig } from './upstream-config.js';
import { type TraceContextSource, UpstreamConnection } from './upstream-connection.js';
import { credentialFrom } from './upstream-credential.js';
import { rateLimitedForS, rowOf, upstreamFailure } from './upstream-failure.js';
import { type AppUsers, readUserLists, UserLists, visibleUsers } from './users/user-lists.js';
import { UpstreamDirectory } from './users/upstream-directory.js';
import { responseValidator } from './validate-response.js';

/**
 * The implementation of the port by another deployment of the interface. Its responses are validated before callers get them.
 *
 * @param traceContext returns the headers by which the upstream continues the trace of a request
 */
export function openUpstream(
  { url, timeoutMs, credential }: UpstreamConfig,
  log: Logger,
  traceContext?: TraceContextSource,
): Implementation {
  const connection = new UpstreamConnection(timeoutMs, log, traceContext);
  const loop = new RequestLoopDetector(connection.name);
  const token = credentialFrom(credential);
  const options = {
    baseUrl: url,
    token,
    timeoutMs,
    // Callers retry with the same key. If the gateway retried too, a failing upstream would get the product of both counts.
    retries: 0,
    fetch: connection.transport,
    inspect: responseValidator(),
  };
  const ownService = new RemoteBankingService(options);
  const lists = new UserLists(
    () => readUserLists(ownService),
    (read) => connection.holdCallersDuring(read),
  );
  // No caller is served without the lists. With them, callers are served even while the upstream limits our own requests.
  const check = async () => {
    await ownService.listApps({}).catch((error: unknown) => {
      if (rateLimitedForS(error) === undefined) throw error;
    });
    await lists.find();
  };
  return {
    banking: upstreamBankingService(options, lists),
    directory: new UpstreamDirectory(lists, (fields, message) => log.warn(fields, message)),
    readiness: upstreamReadiness(check),
    providers: [{ provide: TRANSLATE_ERROR, useValue: upstreamFailure }],
    watch: (server) => {
      keyCreations(server);
      loop.watch(server);
      enforceRequestDeadline(server, timeoutMs);
      abortReadsOnDisconnect(server);
    },
    refusals: ['upstream_error', 'upstream_timeout'],
    place: new URL(url).host,
    onListening: () => checkUpstream({ check, token: () => token.token(), loop, log }),
    close: () => connection.close(),
  };
}

/**
 * Whether a request for approvals is shown to a caller. The upstream shows the user of the credential all of them, and that user is the maker
 * of what comes through the gateway, so the roles alone decide.
 */
const isShownTo = ({ roles = [] }: Pick<Caller, 'roles'>, { operations, requirements }: Approval): boolean =>
  !(ADMINISTRATORS_GROUPS as readonly string[]).includes(operations) ||
  ['admin', ...requirements.flatMap((required) => required.roles)].some((role) =>
    (roles as readonly string[]).includes(role),
  );

const notHere = () => Promise.reject(new Refusal('not_through_gateway'));

/**
 * Implements the port by another deployment of the interface. The upstream authenticates the gateway and not its caller, so the operations that
 * depend on the caller are served from the user lists: their apps, and the users they may see. Requests for approvals are shown by the roles of
 * the caller. What only a person may do is refused here,
 * because it would be done by the user of the credential. The client implements the others.
 */
function upstreamBankingService(options: BankingClientOptions, lists: UserLists): BankingService {
  const upstream = new RemoteBankingService(options);
  return new BankingService({
    ...upstream,

    async listApps({ actor }) {
      const known = await lists.find();
      return known.filter(({ users }) => users.some(({ id }) => id === actor)).map(({ app }) => app);
    },

    /** @throws Refusal `app_not_found` if the app does not exist or is not the actor's */
    async listAppUsers({ actor }, { appId }) {
      const visibleIn = (known: readonly AppUsers[]) => {
        const users = known.find(({ app }) => app.id === appId)?.users ?? [];
        return actor === undefined ? [] : visibleUsers(users, actor);
      };
      const visible = visibleIn(await lists.find((known) => visibleIn(known).length > 0));
      if (visible.length === 0) throw new Refusal('app_not_found');
      return visible;
    },

    /** A page has fewer items than the limit if some are not shown. Its cursor is that of the upstream. */
    async listApprovals(scope: Scope & Pick<Caller, 'roles'>, query) {
      const page = await upstream.listApprovals(scope, query);
      return { ...page, items: page.items.filter((approval) => isShownTo(scope, approval)) };
    },

    /** @throws Refusal `approval_not_found` also for one that is not shown to the caller */
    async getApproval(scope: Scope & Pick<Caller, 'roles'>, name) {
      const approval = await upstream.getApproval(scope, name);
      if (!isShownTo(scope, approval)) throw new Refusal('approval_not_found');
      return approval;
    },

    acceptInvitation: notHere,
    decideApproval: notHere,
    withdrawApproval: notHere,
  });
}

/**
 * Gives each creation its key before anything can fail: that of the caller or, without one, a new one. Whatever fails later, the response
 * has the key that the upstream may have got.
 */
function keyCreations(server: FastifyInstance): void {
  server.addHook('onRequest', (request, _reply, done) => {
    if (rowOf(request.routeOptions.config.operation)?.result === 'created') {
      const hasKey = request.headers['idempotency-key'] !== undefined;
      request.idempotencyKey = hasKey ? sentKey(request) : randomBytes(16).toString('hex');
    }
    done();
  });
  // A maker repeats a request with its key after the approvals, and has no other way to learn a generated one.
  server.addHook('onSend', ({ idempotencyKey, headers }, reply, _payload, done) => {
    const isGenerated = idempotencyKey !== undefined && headers['idempotency-key'] === undefined;
    if (isGenerated && reply.statusCode === 202) reply.header('Idempotency-Key', idempotencyKey);
    done();
  });
}

/**
 * Refuses a request if too little time is left for the upstream to respond. Its caller would get a timeout while the upstream carries
 * the request out, and might send a payment again as another one.
 *
 * @param neededMs the time the upstream may take
 */
function enforceRequestDeadline(server: FastifyInstance, neededMs: number): void {
  server.addHook('preHandler', (request, { elapsedTime }, done) => {
    const isTooLate = request.caller !== undefined && elapsedTime + neededMs > HANDLER_TIMEOUT_MS;
    done(isTooLate ? new Refusal('unavailable', TOO_LATE) : undefined);
  });
}

const TOO_LATE = 'Too much time had passed before the request could be sent on. Nothing was done.';

/**
 * Aborts the reads of a caller at the upstream when its caller disconnects: they would keep connections that other callers need. A
 * request that changes something continues, since the upstream may have carried it out already. Responses that callers share continue
 * too.
 */
function abortReadsOnDisconnect(server: FastifyInstance): void {
  // One for all requests of a connection: a controller and a listener for each request would be made for nothing.
  const disconnects = new WeakMap<Socket, AbortSignal>();
  server.addHook('preHandler', (request, _reply, done) => {
    const { caller, deadline, raw } = request;
    if (caller?.workspaceId !== undefined && deadline === undefined) {
      const signal = disconnects.get(raw.socket) ?? disconnectOf(raw.socket);
      disconnects.set(raw.socket, signal);
      request.caller = { ...caller, signal };
    }
    done();
  });
}

/** Aborted when the connection is closed. Requests that are complete do not notice. */
function disconnectOf(socket: Socket): AbortSignal {
  const disconnect = new AbortController();
  socket.once('close', () => disconnect.abort(new Refusal('unavailable', 'The caller has disconnected.')));
  return disconnect.signal;
}
