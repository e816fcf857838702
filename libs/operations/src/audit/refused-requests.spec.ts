import { Refusal, type Scope, type UserId, type WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { demoDatabase } from '../testing/test-databases.js';
import { hasWorkspace, noteRefusals, type RefusedRequest, RefusedRequests } from './refused-requests.js';
import { recordAudit } from './record-audit.js';

const ADA = 2 as UserId;
const EVE = 3 as UserId;
const REFUSED: RefusedRequest = {
  workspaceId: 1 as WorkspaceId,
  isMember: true,
  userId: ADA,
  operation: 'openAccount',
  reason: 'rate_limited',
};
/** A request to a workspace in which the user has no role. */
const probe = (workspaceId: number, userId = EVE): RefusedRequest => ({
  ...{ workspaceId: workspaceId as WorkspaceId, isMember: false, userId },
  ...{ operation: 'listAccounts', reason: 'workspace_forbidden' },
});

describe('refused requests', () => {
  let nowMs: number;
  /** Workspace, user and count. */
  let written: (readonly number[])[];
  let requests: RefusedRequests;
  let isAvailable: boolean;
  beforeEach(() => {
    nowMs = 120_000;
    written = [];
    isAvailable = true;
    const refuseUnlessAvailable = () => {
      if (!isAvailable) throw new Refusal('unavailable');
    };
    requests = new RefusedRequests(
      {
        // Of 1,000 workspaces.
        exists: async (id) => (refuseUnlessAvailable(), id <= 1_000),
        write: async (id, refused) => {
          refuseUnlessAvailable();
          written.push(...refused.map(({ request, count }) => [id, request.userId, count]));
        },
      },
      () => nowMs,
    );
  });

  it('are written as one count when their minute is over', async () => {
    for (let count = 0; count < 3; count += 1) requests.add(REFUSED);
    await requests.flush();
    expect(written).toEqual([]);

    nowMs += 60_000;
    await requests.flush();
    await requests.flush();

    expect(written).toEqual([[1, ADA, 3]]);
  });

  it('to invented workspaces have one count for each user, and hide no others', async () => {
    for (let id = 0; id < 150; id += 1) requests.add(probe(1_000_000 + id));
    requests.add(probe(7));
    requests.add(probe(7));
    requests.add({ ...probe(8), workspaceId: undefined });
    requests.add(probe(7, ADA));
    await requests.flush({ isLast: true });

    expect(written).toEqual([
      [7, ADA, 1],
      [7, EVE, 2],
    ]);
    expect(requests.takeUncounted()).toEqual(new Map([[EVE, 151]]));
    expect(requests.takeUncounted()).toEqual(new Map());
  });

  it('beyond the bound of a user hide none of another user', async () => {
    for (let id = 1; id <= 600; id += 1) requests.add({ ...REFUSED, workspaceId: id as WorkspaceId });
    requests.add({ ...REFUSED, userId: EVE });
    await requests.flush({ isLast: true });

    expect(written.filter(([, userId]) => userId === ADA)).toHaveLength(500);
    expect(written).toContainEqual([1, EVE, 1]);
    expect(requests.takeUncounted()).toEqual(new Map([[ADA, 100]]));
  });

  it('of which many wait for a look-up are looked up one by one, and left out beyond a bound', async () => {
    for (let id = 1; id <= 250; id += 1) requests.add(probe(id));
    requests.add(probe(1, ADA));
    await requests.flush({ isLast: true });

    expect([written.length, requests.takeUncounted()]).toEqual([201, new Map([[EVE, 50]])]);
  });

  it('are written by a later call if the database is not available', async () => {
    isAvailable = false;
    requests.add(REFUSED);
    requests.add(probe(7));
    await expect(requests.flush({ isLast: true })).rejects.toMatchObject({ reason: 'unavailable' });

    isAvailable = true;
    await requests.flush({ isLast: true });
    await requests.flush({ isLast: true });

    expect([written, requests.takeUncounted()]).toEqual([[[1, ADA, 1]], new Map([[EVE, 1]])]);
  });

  it('become entries of a workspace that exists, which name a stranger by a pseudonym', async () => {
    const world = await demoDatabase();
    const { database } = world;
    const [near, far] = ['Northwind Trading', 'Ada personal'].map((name) => world.demo.workspaces[name] as WorkspaceId);
    const ofBooks = new RefusedRequests({
      exists: (id) => hasWorkspace(database, id),
      write: (id, refused) => noteRefusals(database, id, refused),
    });
    const origin = {
      issuer: 'https://login.example',
      subject: 'eve',
      clientId: 'app',
      tokenId: 't',
      sourceAddress: 's',
    };
    ofBooks.add({ ...REFUSED, workspaceId: near, origin });
    for (const id of [near, near, far, 999_999]) ofBooks.add({ ...probe(id!), origin });
    await ofBooks.flush({ isLast: true });
    while ((await recordAudit(database)) > 0);
    const entriesOf = async (workspaceId: WorkspaceId | undefined) => {
      const scope: Scope = { workspaceId };
      const { items } = await new LedgerBankingService(database, world.books).listAuditEvents(scope, { limit: 2 });
      return items.filter(({ outcome }) => outcome === 'refused');
    };
    const [nearby, away] = [await entriesOf(near), await entriesOf(far)];

    const { issuer, subject, clientId } = origin;
    const pseudonym = expect.stringMatching(/^[0-9a-f]{32}$/) as string;
    expect(nearby.map(({ actor, count }) => [actor, count])).toEqual(
      expect.arrayContaining([
        [{ type: 'user', userID: ADA, issuer, subject, clientID: clientId }, undefined],
        [{ type: 'user', pseudonym }, 2],
      ]),
    );
    expect(away.map(({ actor }) => actor)).toEqual([{ type: 'user', pseudonym }]);
    expect(nearby.map(({ actor }) => actor.pseudonym)).not.toContain(away[0]!.actor.pseudonym);
    expect((await world.owner.query('select from audit_outbox')).rows).toEqual([]);
    await world.close();
  });
});
