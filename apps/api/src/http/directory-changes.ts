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
 * Lets few requests at a time change the directory, one of a workspace and one of persons who join, before they take a database connection.
 * All workspaces share its lock, and each request that waits for the lock has a connection: without turns, one workspace could take all of
 * them.
 */
export class DirectoryTurns {
  /** Persons who join have no workspace yet: they sign in for the first time, or accept an invitation. */
  private readonly queue: FairQueue<WorkspaceId | undefined>;

  constructor(private readonly limits = DIRECTORY_CHANGES) {
    const { running, waiting, waitMaxMs } = limits;
    this.queue = new FairQueue({
      running: new FairSlots(running, 1),
      waiting: new FairSlots(waiting),
      waitMaxMs,
      waitsFor: 'the changes before it',
      ofOneKey: 'such requests',
    });
  }

  /** Runs the change of a first sign-in. @throws as `run` of {@link FairQueue} does */
  join<T>(change: () => Promise<T>): Promise<T> {
    return this.queue.run({ key: undefined, waitMaxMs: this.limits.firstSignInWaitMaxMs }, change);
  }

  /** Lets requests of the operations that change the directory wait for their turn. */
  serve(server: FastifyInstance): void {
    const begun = new WeakMap<FastifyRequest, () => void>();
    const begin: preHandlerAsyncHookHandler = async (request, reply) => {
      const leave = await takeTurn(this.queue, { key: request.caller?.workspaceId }, reply);
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
}
