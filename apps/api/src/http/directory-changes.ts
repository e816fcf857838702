import type { FastifyInstance, FastifyRequest, onSendHookHandler, preHandlerAsyncHookHandler } from 'fastify';
import type { WorkspaceId } from '@banking/domain';
import { FairSlots } from '@banking/process';
import { isResponseOver } from './connections.js';
import { FairQueue, takeTurn } from './fair-queue.js';
import { DIRECTORY_CHANGES } from './limits.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the operation changes the directory, whose lock all workspaces share. */
    changesDirectory?: boolean;
  }
}

/**
 * Lets few requests at a time change the directory, one of a workspace, before they take a database connection. All workspaces share its
 * lock, and each request that waits for the lock has a connection: without turns, one workspace could take all of them.
 */
export function changeDirectoryInTurns(
  server: FastifyInstance,
  { running, waiting, waitMaxMs } = DIRECTORY_CHANGES,
): void {
  const queue = new FairQueue<WorkspaceId | undefined>({
    running: new FairSlots(running, 1),
    waiting: new FairSlots(waiting),
    waitMaxMs,
    waitsFor: 'the changes before it',
    ofOneKey: 'requests of the workspace',
  });
  const begun = new WeakMap<FastifyRequest, () => void>();
  const begin: preHandlerAsyncHookHandler = async (request, reply) => {
    const leave = await takeTurn(queue, { key: request.caller?.workspaceId }, reply);
    // The handler of a request without a client is not called.
    if (isResponseOver(reply)) leave();
    else begun.set(request, leave);
  };
  // Not when the client disconnects: the change goes on.
  const end: onSendHookHandler = (request, _reply, _payload, done) => {
    begun.get(request)?.();
    begun.delete(request);
    done();
  };
  server.addHook('onRoute', (route) => {
    if (route.config?.changesDirectory !== true) return;
    route.preHandler = [route.preHandler ?? [], begin].flat();
    route.onSend = [route.onSend ?? [], end].flat();
  });
}
