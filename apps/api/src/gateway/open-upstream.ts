import type { Logger } from 'pino';
import { RemoteBankingService } from '@banking/client';
import type { Implementation } from '../banking.module.js';
import { TRANSLATE_ERROR } from '../http/refusal.filter.js';
import { checkUpstream, upstreamReadiness } from './check-upstream.js';
import { abortReadsOnDisconnect, enforceRequestDeadline, RequestLoopDetector } from './request-hooks.js';
import { upstreamBankingService } from './upstream-banking-service.js';
import type { UpstreamConfig } from './upstream-config.js';
import { type TraceContextSource, UpstreamConnection } from './upstream-connection.js';
import { credentialFrom } from './upstream-credential.js';
import { rateLimitedForS, upstreamFailure } from './upstream-failure.js';
import { readUserLists, UserLists } from './users/user-lists.js';
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
