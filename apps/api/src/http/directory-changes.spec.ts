import fastify from 'fastify';
import { Refusal, type WorkspaceId } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { MembersModule } from '../members/members.controller.js';
import { ServiceAccountsModule } from '../service-accounts/service-accounts.controller.js';
import { DirectoryTurns } from './directory-changes.js';
import { DIRECTORY_CHANGES } from './limits.js';
import type {} from './request-log.js';

/** A server with a change of the directory. Those that have begun, and so have a connection, wait until the spec ends them. */
async function listening(waitMaxMs = 60_000) {
  const server = fastify();
  const begun: number[] = [];
  const running: { readonly workspaceId: number; end(error?: Error): void }[] = [];
  let arrived = 0;
  server.addHook('onRequest', async (request) => {
    request.caller = { workspaceId: Number(request.headers['workspace-id']) as WorkspaceId } as never;
  });
  server.setErrorHandler((error, _request, reply) =>
    reply.code(error instanceof Refusal ? error.status : 500).send({ message: String(error) }),
  );
  // Hooks of the server run before those of a route: this one counts the requests that come to their turn.
  server.addHook('preHandler', async () => void (arrived += 1));
  const turns = new DirectoryTurns({ ...DIRECTORY_CHANGES, waitMaxMs });
  turns.serve(server);
  const change = (workspaceId: number) =>
    new Promise((resolve, reject) => {
      begun.push(workspaceId);
      const entry = {
        workspaceId,
        end: (error?: Error) => {
          running.splice(running.indexOf(entry), 1);
          if (error) reject(error);
          else resolve('changed');
        },
      };
      running.push(entry);
    });
  server.post('/members', { config: { changesDirectory: true } }, (request) =>
    change(Number(request.headers['workspace-id'])),
  );
  await server.ready();
  return {
    server,
    turns,
    begun,
    running,
    arrived: () => arrived,
    change,
    /** @returns the status of the response */
    async send(workspaceId: number) {
      const headers = { 'workspace-id': String(workspaceId) };
      return (await server.inject({ method: 'POST', url: '/members', headers })).statusCode;
    },
  };
}

describe('changes of the directory', () => {
  it('begin one at a time of a workspace and two of all, and workspaces take turns', async () => {
    const { server, begun, running, send, arrived } = await listening();
    const statuses = [1, 1, 1, 2, 2, 3].map(send);
    await until(() => arrived() === 6 && running.length > 1);
    expect(begun).toEqual([1, 2]);

    running.find(({ workspaceId }) => workspaceId === 1)!.end();
    await until(() => begun.length === 3);
    expect(begun).toEqual([1, 2, 1]);
    running.find(({ workspaceId }) => workspaceId === 1)!.end();
    await until(() => begun.length === 4);
    // Not the third of workspace 1, which came earlier.
    expect(begun).toEqual([1, 2, 1, 3]);

    await until(() => {
      running[0]?.end();
      return begun.length === 6 && running.length === 0;
    });
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 200, 200, 200]);
    await server.close();
  });

  it('include first sign-ins, one at a time, which wait longer', async () => {
    const { server, turns, begun, running, send, change } = await listening(1);
    const [first, second] = [1, 2].map((person) => turns.join(() => change(-person)));
    const [ofWorkspace, refused] = [send(1), send(2)];
    await until(() => begun.length === 2);
    expect(await refused).toBe(503);
    expect(begun).toEqual([-1, 1]);

    running[0]!.end(new Error('no connection'));
    await expect(first).rejects.toThrow('no connection');
    await until(() => begun.length === 3);
    expect(begun).toEqual([-1, 1, -2]);

    for (const { end } of [...running]) end();
    expect([await second, await ofWorkspace]).toEqual(['changed', 200]);
    await server.close();
  });

  it('end their turn also when they are refused', async () => {
    const { server, running, begun, send } = await listening();
    const [refused, next] = [send(1), send(1)];
    await until(() => running.length === 1);
    running[0]!.end(new Refusal('member_exists'));

    await until(() => begun.length === 2);
    running[0]!.end();
    expect(await Promise.all([refused, next])).toEqual([422, 200]);
    await server.close();
  });

  it('are refused without having begun when they waited too long', async () => {
    const { server, begun, running, send } = await listening(1);
    const first = send(1);
    await until(() => running.length === 1);

    expect(await send(1)).toBe(503);

    running[0]!.end();
    expect(await first).toBe(200);
    expect(begun).toEqual([1]);
    await server.close();
  });

  it('are these operations', () => {
    const controllers = [MembersModule, ServiceAccountsModule].flatMap(
      (module) => Reflect.getMetadata('controllers', module) as { readonly prototype: object }[],
    );
    const operations = controllers.flatMap(({ prototype }) =>
      Object.getOwnPropertyNames(prototype).flatMap((name) => {
        const handler = (prototype as unknown as Record<string, object>)[name]!;
        const config = Reflect.getMetadata('__fastify_route_config__', handler) as Record<string, unknown> | undefined;
        return config?.['changesDirectory'] === true ? [config['operation']] : [];
      }),
    );

    expect(operations.sort()).toEqual([
      'acceptInvitation',
      'changeMember',
      'changeServiceAccount',
      'createServiceAccount',
      'deleteServiceAccount',
      'inviteMember',
      'removeMember',
    ]);
  });
});
