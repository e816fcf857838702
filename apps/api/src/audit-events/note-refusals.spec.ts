import fastify from 'fastify';
import type { UserId, WorkspaceId } from '@banking/domain';
import { RefusalNotes } from './note-refusals.js';
import type {} from '../http/request-log.js';

interface Refused {
  readonly reason?: string;
  readonly workspace?: string;
  readonly userId?: number;
  readonly isMember?: boolean;
}

/** The counts and warnings after requests that end with these reasons. Workspaces from 100 on do not exist. */
async function noted(requests: readonly Refused[], write = () => Promise.resolve()) {
  const counts: unknown[] = [];
  const warnings: unknown[] = [];
  const notes = new RefusalNotes(
    {
      exists: async (id) => id < 100,
      write: async (workspaceId, refused) => {
        await write();
        counts.push(...refused.map(({ request: { reason }, count }) => [workspaceId, reason, count]));
      },
    },
    ({ err: _, ...context }: { err?: unknown }, message) => warnings.push({ ...context, message }),
  );
  const server = fastify();
  server.addHook('onRequest', async (request) => {
    const { reason, userId, memberOf } = request.query as Record<string, string>;
    request.operation = 'openAccount';
    if (userId !== undefined) request.userId = Number(userId) as UserId;
    if (memberOf !== undefined) request.memberOf = Number(memberOf) as WorkspaceId;
    if (reason !== undefined) request.reason = reason;
  });
  server.get('/', () => ({}));
  server.addHook('onResponse', async (request) => notes.note(request));
  notes.start();
  for (const { workspace, reason = '', userId = 7, isMember = true } of requests) {
    const query = {
      reason,
      ...(userId > 0 && { userId: String(userId) }),
      ...(isMember && workspace !== undefined && { memberOf: workspace }),
    };
    await server.inject({
      url: '/',
      query,
      ...(workspace !== undefined && { headers: { 'workspace-id': workspace } }),
    });
  }
  await notes.stop();
  await server.close();
  return { counts, warnings };
}

describe('the notes of refused requests', () => {
  it('have one count for a user, an operation, a workspace and a reason', async () => {
    expect(
      await noted([
        { reason: 'workspace_forbidden', workspace: '3', isMember: false },
        { reason: 'workspace_forbidden', workspace: '3', isMember: false },
        { reason: 'rate_limited', workspace: '3' },
      ]),
    ).toEqual({
      counts: [
        [3, 'workspace_forbidden', 2],
        [3, 'rate_limited', 1],
      ],
      warnings: [],
    });
  });

  it('have nothing of other requests', async () => {
    const { counts, warnings } = await noted([
      { workspace: '3' },
      { reason: 'account_not_found', workspace: '3' },
      { reason: 'rate_limited' },
      { reason: 'rate_limited', workspace: 'x' },
      { reason: 'rate_limited', workspace: '3', userId: 0 },
    ]);

    expect([counts, warnings]).toEqual([[], []]);
  });

  it('report a failure', async () => {
    const failed = await noted([{ reason: 'rate_limited', workspace: '3' }], () => Promise.reject(new Error('down')));
    expect(failed).toEqual({ counts: [], warnings: [{ message: 'refused requests not recorded' }] });
  });

  it('count 500 invented workspaces as one, and those beyond the rate, and hide no other', async () => {
    const forbidden = { reason: 'workspace_forbidden', isMember: false };
    const invented = Array.from({ length: 500 }, (_, index) => ({ ...forbidden, workspace: String(100 + index) }));
    const beyondTheRate = { reason: 'rate_limited', isMember: false, workspace: '4' };
    const { counts, warnings } = await noted([...invented, beyondTheRate, { ...forbidden, workspace: '3', userId: 8 }]);

    expect(counts).toEqual([[3, 'workspace_forbidden', 1]]);
    expect(warnings).toEqual([{ userId: 7, requests: 501, message: 'refused requests in no audit trail' }]);
  });
});
