import { APP_GUARD } from '@nestjs/core';
import type { Logger } from 'pino';
import { BankingClient } from '@banking/client';
import type { Backing } from '../backing.module.js';
import { answerChecks } from './answer-checks.js';
import { LoopWatch } from './loop-watch.js';
import { credentialFrom } from './credential.js';
import { askFirst } from './first-question.js';
import { HangUp } from './hang-up.js';
import type { UpstreamConfig } from './read-upstream.js';
import { TimeLeft } from './time-left.js';
import { UpstreamBankingService } from './upstream-banking-service.js';
import { UpstreamConnection } from './upstream-connection.js';
import { UpstreamDirectory } from './upstream-directory.js';
import { upstreamReadiness } from './upstream-readiness.js';
import { readUserLists } from './read-user-lists.js';
import { limitedFor } from './upstream-failure.js';
import { UserLists } from './user-lists.js';

/** Another deployment of the interface behind ours. What it says is believed only after it has been looked at. */
export function openUpstream({ url, timeoutMs, credential }: UpstreamConfig, log: Logger): Backing {
  const connection = new UpstreamConnection(timeoutMs, log);
  const loop = new LoopWatch(connection.name);
  const token = credentialFrom(credential);
  const options = {
    baseUrl: url,
    token,
    timeoutMs,
    // Whoever called repeats, with the same key: where each of two layers does, an upstream in trouble gets the product.
    retries: 0,
    fetch: connection.transport,
    inspect: answerChecks(),
  };
  const asOurselves = new BankingClient(options);
  const lists = new UserLists(
    () => readUserLists(asOurselves),
    (read) => connection.holdCallersDuring(read),
  );
  // Without the lists nobody is served, whatever else the upstream answers. With them callers are, also while it limits our requests.
  const ask = async () => {
    await asOurselves.listApps({}).catch((error: unknown) => {
      if (limitedFor(error) === undefined) throw error;
    });
    await lists.find();
  };
  return {
    banking: new UpstreamBankingService(options, lists),
    directory: new UpstreamDirectory(lists, (fields, message) => log.warn(fields, message)),
    readiness: upstreamReadiness(ask),
    providers: [
      { provide: APP_GUARD, useValue: new TimeLeft(timeoutMs) },
      { provide: APP_GUARD, useValue: new HangUp() },
    ],
    watch: (server) => loop.watch(server),
    refusals: ['upstream_error', 'upstream_timeout'],
    place: new URL(url).host,
    begin: () => askFirst({ ask, token: () => token.token(), loop, log }),
    close: () => connection.close(),
  };
}
