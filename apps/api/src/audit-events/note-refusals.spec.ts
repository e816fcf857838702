import fastify, { type FastifyRequest } from 'fastify';
import type { UserId } from '@banking/domain';
import type { RequestContext } from '../http/request-context.js';
import { RefusalNotes } from './note-refusals.js';

/** The entries and warnings after requests that end with these reasons. */
async function noted(
  requests: readonly { readonly reason?: string; readonly workspace?: string; readonly userId?: number }[],
  write = () => Promise.resolve(),
) {
  const entries: unknown[] = [];
  const warnings: string[] = [];
  const notes = new RefusalNotes(
    async (workspaceId, some) => {
      await write();
      entries.push(...some.map(({ json }) => [workspaceId, JSON.parse(json) as unknown]));
    },
    (_, message) => warnings.push(message),
  );
  const server = fastify();
  server.addHook('onRequest', async (request: FastifyRequest & RequestContext) => {
    const { reason, userId } = request.query as { reason?: string; userId?: string };
    request.operation = 'openAccount';
    if (userId !== undefined) request.userId = Number(userId) as UserId;
    if (reason !== undefined) request.reason = reason;
  });
  server.get('/', () => ({}));
  notes.watch(server);
  notes.start();
  for (const { workspace, reason = '', userId = 7 } of requests) {
    const query = { reason, ...(userId > 0 && { userId: String(userId) }) };
    await server.inject({
      url: '/',
      query,
      ...(workspace !== undefined && { headers: { 'workspace-id': workspace } }),
    });
  }
  await notes.stop();
  await server.close();
  return { entries, warnings };
}

describe('the notes of refused requests', () => {
  it('have one entry with the count for a user, an operation, a workspace and a reason', async () => {
    const { entries } = await noted([
      { reason: 'workspace_forbidden', workspace: '3' },
      { reason: 'workspace_forbidden', workspace: '3' },
      { reason: 'rate_limited', workspace: '3' },
    ]);

    const common = { operation: 'openAccount', outcome: 'refused', userId: 7 };
    expect(entries).toMatchObject([
      [3, { ...common, reason: 'workspace_forbidden', count: 2 }],
      [3, { ...common, reason: 'rate_limited', count: 1 }],
    ]);
  });

  it('have nothing of other requests', async () => {
    const { entries } = await noted([
      { workspace: '3' },
      { reason: 'account_not_found', workspace: '3' },
      { reason: 'rate_limited' },
      { reason: 'rate_limited', workspace: 'x' },
      { reason: 'rate_limited', workspace: '3', userId: 0 },
    ]);

    expect(entries).toEqual([]);
  });

  it('report a failure and a count that is full', async () => {
    const failed = await noted([{ reason: 'rate_limited', workspace: '3' }], () => Promise.reject(new Error('down')));
    expect(failed).toEqual({ entries: [], warnings: ['refused requests not recorded'] });

    const many = Array.from({ length: 502 }, (_, index) => ({ reason: 'rate_limited', workspace: String(index + 1) }));
    const full = await noted(many);
    expect([full.entries.length, full.warnings]).toEqual([500, ['refused requests not counted']]);
  });
});
