import {
  type BankingService,
  KEY_ISSUER,
  type MemberId,
  type RoleName,
  type Scope,
  type ServiceAccountKeyId,
  type Subject,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { OPERATOR_ROLE, RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { reasonOf } from '@banking/postgres/testing';
import { LedgerDirectory } from '../apps/directory.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import {
  addApp,
  addGrants,
  addKey,
  addUser,
  addWorkspace,
  bindUser,
  removeGrants,
  removeUser,
  renameUser,
  suspendUser,
} from '../provisioning/index.js';
import { PAUSED_MAX, REMOVED_PLACER, removedPlacerHandler } from './pause-orders.js';
import { recordChanges } from '../events/record-changes.js';
import { TERMS } from '../testing/event-world.js';
import { placerWorld } from '../testing/order-world.js';
import { verifyDirectory } from '../verification/verify-trails.js';
import { EVENT_CHAIN } from '../verification/verify-events.js';
import { verifyPayments } from '../testing/order-world.js';

const ISSUER = 'https://id.example';
const ORIGIN = { issuer: ISSUER, subject: 'ada', sourceAddress: '198.51.100.7' };

let world: Awaited<ReturnType<typeof placerWorld>>;
let service: BankingService;
let directory: LedgerDirectory;
let appId: number;
let names = 0;

beforeAll(async () => {
  world = await placerWorld();
  service = new LedgerBankingService(world.db, world.books, {}, true, undefined, TERMS);
  directory = new LedgerDirectory(world.db);
  appId = await addApp(world.provisioning, 'spec', 'Harbour');
});
afterAll(() => world.close());

const newAddress = () => `user${(names += 1)}@harbour.example`;
const inScope = (workspaceId: WorkspaceId, actor: number): Scope & { workspaceId: WorkspaceId; actor: UserId } => ({
  workspaceId,
  actor: actor as UserId,
  requestId: 'request-1',
  origin: ORIGIN,
});

/** A workspace with one administrator, who acts. */
async function given() {
  const email = newAddress();
  const id = await addUser(world.provisioning, 'spec', { email, app: 'Harbour' });
  const workspaceId = (await addWorkspace(world.provisioning, 'spec', {
    app: 'Harbour',
    name: `Of ${email}`,
  })) as WorkspaceId;
  await addGrants(world.provisioning, 'spec', { workspaceId, email, roles: ['admin'] });
  const admin = inScope(workspaceId, id);
  const [self] = (await service.listMembers(admin)).items;
  const subject: Subject = { issuer: ISSUER, subject: `s-${names}` };
  const grantsOf = async (of: Subject) =>
    (await directory.userOf(of))?.grants.find((grant) => grant.workspaceId === workspaceId)?.roles;
  return {
    ...{ admin, workspaceId, email, self: self!, subject, grantsOf },
    user: async (status?: string) => {
      const address = newAddress();
      return {
        email: address,
        id: await addUser(world.provisioning, 'spec', { email: address, app: 'Harbour', status }),
      };
    },
    invite: async (address: string, ...roles: RoleName[]) =>
      (await service.inviteMember(admin, { email: address, roles })).resource,
    list: async () =>
      (await service.listMembers(admin)).items.map((member) => [member.email, member.status, member.roles.join(' ')]),
    accept: (code: string, of: Partial<Scope & { readonly subject: Subject }> = {}) =>
      service.acceptInvitation({ subject, requestId: 'request-2', origin: ORIGIN, ...of }, { code }),
  };
}

type Given = Awaited<ReturnType<typeof given>>;
/** An administrator beside the one who acts. */
interface Other {
  readonly memberId: MemberId;
  readonly email: string;
  readonly workspaceId: number;
}
const ops = () => [world.provisioning, 'spec'] as const;
/** How an administrator becomes none. */
const LOSSES: readonly (readonly [string, (admin: Given['admin'], other: Other) => Promise<unknown>])[] = [
  ['was removed', (admin, { memberId }) => service.removeMember(admin, { memberId })],
  ['lost the role', (admin, { memberId }) => service.changeMember(admin, { memberId, roles: ['viewer'] })],
  ['lost the role by an operator', (_, other) => removeGrants(...ops(), { ...other, roles: ['admin'] })],
  ['was suspended by an operator', (_, { email }) => suspendUser(...ops(), email)],
  ['was removed by an operator', (_, { email }) => removeUser(...ops(), email)],
];

describe('the members of a workspace', () => {
  it('are the users with roles, however granted, and the open invitations', async () => {
    const { user, invite, list, email } = await given();
    const pending = await user('pending');
    const invited = newAddress();

    await invite(pending.email, 'viewer');
    const member = await invite(invited, 'approver', 'viewer');

    expect(member).toMatchObject({ email: invited, roles: ['viewer', 'approver'], status: 'invited' });
    expect(member).not.toHaveProperty('userID');
    expect(await list()).toEqual([
      [invited, 'invited', 'viewer approver'],
      [pending.email, 'invited', 'viewer'],
      [email, 'active', 'admin'],
    ]);
  });

  it('show that the bank has suspended a user', async () => {
    const { user, invite, list } = await given();
    const other = await user();
    await invite(other.email, 'admin');
    await suspendUser(world.provisioning, 'spec', other.email);

    expect((await list())[0]).toEqual([other.email, 'suspended', 'admin']);
  });

  it('are not found in another workspace, or after their user was deleted', async () => {
    const { admin, user, invite } = await given();
    const elsewhere = await given();
    const other = await user();
    const { id: memberId } = await invite(other.email, 'viewer');

    for (const call of [
      () => service.getMember(elsewhere.admin, { memberId }),
      () => service.changeMember(elsewhere.admin, { memberId, roles: ['viewer'] }),
      () => service.removeMember(elsewhere.admin, { memberId }),
    ]) {
      expect(await reasonOf(call())).toBe('member_not_found');
    }
    await removeUser(world.provisioning, 'spec', other.email);
    expect(await reasonOf(service.getMember(admin, { memberId }))).toBe('member_not_found');
  });
});

describe('an invitation of a user of the service', () => {
  it('gives the roles at once, also to a user of another app, and shows no code', async () => {
    const { invite } = await given();
    const email = newAddress();
    await addApp(world.provisioning, 'spec', `Of ${email}`);
    const id = await addUser(world.provisioning, 'spec', { email, app: `Of ${email}` });

    const member = await invite(email.toUpperCase(), 'viewer');

    expect(member).toMatchObject({ email, userID: id, status: 'active', roles: ['viewer'] });
    expect(member).not.toHaveProperty('code');
    const { rows } = await world.owner.query('select app_id::int from app_membership where user_id = $1 order by 1', [
      id,
    ]);
    expect(rows).toContainEqual({ app_id: appId });
  });

  it('is refused for a member, and makes a removed one a member again with the same id', async () => {
    const { admin, user, invite } = await given();
    const { email } = await user();
    const { id } = await invite(email, 'viewer');

    expect(await reasonOf(invite(email, 'admin'))).toBe('member_exists');
    await service.removeMember(admin, { memberId: id });
    expect(await service.getMember(admin, { memberId: id })).toMatchObject({ email, status: 'removed', roles: [] });
    expect(await invite(email, 'approver')).toMatchObject({ id, status: 'active', roles: ['approver'] });
  });
});

describe('an invitation of another address', () => {
  it('is accepted at the first sign-in with that e-mail, in all workspaces that invited it', async () => {
    const [one, two] = [await given(), await given()];
    const email = newAddress();
    const { id, code } = await one.invite(email, 'member', 'admin');
    await two.invite(email, 'viewer');
    const of = { issuer: ISSUER, subject: `first ${email}` };

    expect(await directory.userOf({ ...of, email: newAddress() })).toBeUndefined();
    const user = await directory.userOf({ ...of, email: email.toUpperCase() });

    expect(user?.grants).toMatchObject([
      { workspaceId: one.workspaceId, roles: expect.arrayContaining(['member', 'admin']) as string[] },
      { workspaceId: two.workspaceId, roles: ['viewer'] },
    ]);
    const member = await service.getMember(one.admin, { memberId: id });
    expect(member).toMatchObject({ email, status: 'active', roles: ['member', 'admin'], userID: user?.id });
    expect(member).not.toHaveProperty('expiresAt');
    expect(await reasonOf(one.accept(code!))).toBe('invitation_not_found');
    expect((await service.listApps({ actor: user!.id })).map((app) => app.name)).toEqual(['Harbour']);
  });

  it('is not accepted by its e-mail where subjects are not recognised by it, or after it has expired', async () => {
    const { invite, grantsOf, accept, subject } = await given();
    const email = newAddress();
    const { code } = await invite(email, 'viewer');
    const bySubject = new LedgerDirectory(world.db, { bindsByEmail: false });

    expect(await bySubject.userOf({ ...subject, email })).toBeUndefined();
    await world.owner.query(`update member set expires_at = now() - interval '1 second' where email = $1`, [email]);
    expect(await directory.userOf({ ...subject, email })).toBeUndefined();
    expect(await reasonOf(accept(code!))).toBe('invitation_not_found');
    expect(await grantsOf(subject)).toBeUndefined();
  });

  it('is accepted once by its code, by a person who becomes a user with the invited address', async () => {
    const { admin, invite, accept, subject, grantsOf, workspaceId } = await given();
    const email = newAddress();
    const { id, code, expiresAt } = await invite(email, 'approver');

    expect(code).toMatch(/^inv_[\w-]{43}$/);
    expect(Date.parse(expiresAt!) - Date.now()).toBeGreaterThan(6 * 86_400_000);
    expect(await reasonOf(accept(`${code}x`))).toBe('invitation_not_found');
    const joined = await accept(code!);

    expect(joined).toMatchObject({ id, email, status: 'active', edges: { workspace: { id: workspaceId } } });
    expect(await grantsOf(subject)).toEqual(['approver']);
    expect(await accept(code!)).toEqual(joined);
    expect(await reasonOf(accept(code!, { subject: { issuer: ISSUER, subject: 'thief' } }))).toBe(
      'invitation_not_found',
    );
    expect(await service.getMember(admin, { memberId: id })).toMatchObject({ userID: joined.userID, status: 'active' });
  });

  it('is not accepted by its code with a token of another verified e-mail, whatever finds the users of its issuer', async () => {
    const [{ invite, accept, subject, grantsOf }, elsewhere] = [await given(), await given()];
    const email = newAddress();
    const { code } = await invite(email, 'viewer');
    const withToken = (of: string) => accept(code!, { subject: { ...subject, email: of } });

    for (const other of [newAddress(), 'İ@bank.example']) {
      expect(await reasonOf(withToken(other))).toBe('invitation_not_found');
      const unbound = { ...subject, email: other, bindsByEmail: false } as const;
      expect(await reasonOf(accept(code!, { subject: unbound }))).toBe('invitation_not_found');
    }
    expect(await grantsOf(subject)).toBeUndefined();
    const { userID } = await withToken(email.toUpperCase());
    expect(await elsewhere.invite(email, 'viewer')).toMatchObject({ userID, status: 'active' });
  });

  it.each([
    ['its code alone', {}],
    ['its code and an e-mail that finds no user', { bindsByEmail: false }],
  ] as const)('names for no other workspace, and for no operator, the person who accepted it by %s', async (_, how) => {
    const [{ invite, accept, subject, admin }, elsewhere] = [await given(), await given()];
    const email = newAddress();
    const { code, id: memberId } = await invite(email, 'viewer');
    const { userID } = await accept(code!, {
      subject: { ...subject, ...how, ...('bindsByEmail' in how && { email }) },
    });

    // The person with the address is not taken for the one who accepted.
    const identity = { issuer: 'https://other.example', subject: `vic of ${email}` };
    const verified = { ...identity, email };
    expect(await directory.userOf(verified)).toBeUndefined();
    const another = await elsewhere.invite(email, 'admin');
    expect(another).toMatchObject({ email, status: 'invited', code: expect.stringMatching(/^inv_/) as string });
    expect(await elsewhere.grantsOf(subject)).toBeUndefined();
    expect(await directory.userOf(verified)).toBeUndefined();
    const grant = { workspaceId: elsewhere.workspaceId, email, roles: ['viewer'] as const };
    for (const call of [
      () => addUser(world.provisioning, 'spec', { email, app: 'Harbour' }),
      () => addGrants(world.provisioning, 'spec', grant),
      () => bindUser(world.provisioning, 'spec', email, identity),
    ]) {
      expect(await reasonOf(call())).toContain(`run banking user rename ${email} ${email}`);
    }
    expect(await elsewhere.grantsOf(subject)).toBeUndefined();

    // The same person accepts the code of the other workspace too.
    const joined = await elsewhere.accept(another.code!, { subject });
    expect(joined).toMatchObject({ id: another.id, userID, roles: ['admin'] });
    await service.removeMember(admin, { memberId });
    const again = await invite(email, 'approver');
    expect(again.status).toBe('invited');
    expect(await accept(again.code!)).toMatchObject({ id: memberId, userID, roles: ['approver'] });

    await renameUser(world.provisioning, 'spec', email, email);
    const third = await given();
    expect(await third.invite(email, 'viewer')).toMatchObject({ userID, status: 'active' });
    expect(await addGrants(world.provisioning, 'spec', grant)).toHaveLength(2);
    expect(await directory.userOf(verified)).toMatchObject({ id: userID });
  });

  it('adds its roles to those of a member who accepts it by its code', async () => {
    const { admin, invite, accept, subject, self, list } = await given();
    const { code } = await invite(newAddress(), 'viewer', 'admin');
    await world.owner.query('insert into user_identity (issuer, subject, user_id) values ($1, $2, $3)', [
      ISSUER,
      subject.subject,
      admin.actor,
    ]);

    const joined = await accept(code!);
    expect(joined).toMatchObject({ id: self.id, roles: ['viewer', 'admin'] });
    expect(await accept(code!)).toEqual(joined);
    expect(await list()).toEqual([[self.email, 'active', 'viewer admin']]);
  });

  it('is not accepted by its code by a stranger if the address is that of a user by now', async () => {
    const { invite, accept, subject, grantsOf } = await given();
    const email = newAddress();
    const { code } = await invite(email, 'admin');
    await addUser(world.provisioning, 'spec', { email, app: 'Harbour' });

    expect(await reasonOf(accept(code!))).toBe('invitation_not_found');
    expect(await grantsOf(subject)).toBeUndefined();
  });

  it('is replaced by another one, whose code alone is valid, and by a change of its roles', async () => {
    const { admin, invite, accept } = await given();
    const email = newAddress();
    const first = await invite(email, 'viewer');
    const second = await invite(email, 'member');

    expect(second.id).toBe(first.id);
    expect(await reasonOf(accept(first.code!))).toBe('invitation_not_found');
    const changed = await service.changeMember(admin, { memberId: first.id, roles: ['approver'] });
    expect(changed).toMatchObject({ status: 'invited', roles: ['approver'], expiresAt: second.expiresAt });
    expect(await accept(second.code!)).toMatchObject({ roles: ['approver'] });
  });

  it('is withdrawn', async () => {
    const { admin, invite, accept, list } = await given();
    const { id: memberId, code } = await invite(newAddress(), 'viewer');

    expect(await service.removeMember(admin, { memberId })).toMatchObject({ status: 'removed', roles: [] });
    expect(await reasonOf(accept(code!))).toBe('invitation_not_found');
    expect(await list()).toHaveLength(1);
    expect(await reasonOf(service.changeMember(admin, { memberId, roles: ['viewer'] }))).toBe('member_removed');
  });

  it('is one of 200 of its maker at most', async () => {
    const { admin, user, invite, workspaceId, email: own } = await given();
    const fill = (count: number, expires: string) =>
      world.owner.query(
        `insert into member (workspace_id, email, roles, code_hash, expires_at, invited_by)
         select ${workspaceId}, $1 || n, '{viewer}', sha256(($1 || n)::bytea), ${expires}, ${admin.actor}
         from generate_series(1, ${count}) n`,
        [newAddress()],
      );
    await fill(3, 'clock_timestamp()');
    await fill(199, `now() + interval '1 day'`);
    const [email, other] = [newAddress(), await user()];

    await invite(email, 'viewer');
    expect(await reasonOf(invite(newAddress(), 'viewer'))).toBe('invitation_limit');
    const refusedBySql = world.owner.query(
      `begin; set local role banking_api;
       select set_config('app.user', '${admin.actor}', true), set_config('app.workspaces', '{${workspaceId}}', true);
       select invite_member(${workspaceId}, 'x@x.example', '{viewer}', sha256('x'), now() + interval '1 day', '{}')`,
    );
    await expect(refusedBySql).rejects.toMatchObject({ code: RULE_VIOLATION.wrongMembers });
    await world.owner.query('rollback');
    // Another invitation of the address replaces the former one, and a user of the service needs none.
    await invite(email, 'member');
    await invite(other.email, 'viewer');

    await suspendUser(...ops(), own);
    const { rows } = await world.owner.query(
      `select count(*)::int as open from member where invited_by = $1 and roles is not null and expires_at > now()`,
      [admin.actor],
    );
    expect(rows).toEqual([{ open: 0 }]);
  });

  it('is made once for a key, and its replay shows no code', async () => {
    const { admin } = await given();
    const input = { email: newAddress(), roles: ['viewer'] as const };
    const key = { idempotencyKey: input.email };
    const first = await service.inviteMember(admin, input, key);
    const again = await service.inviteMember(admin, input, key);

    expect([first.isReplay, again.isReplay]).toEqual([false, true]);
    expect(again.resource).toEqual({ ...first.resource, code: undefined });
    expect(again.resource).not.toHaveProperty('code');
    const { rows } = await world.owner.query('select answer from idempotency where key = $1', [key.idempotencyKey]);
    expect(JSON.stringify(rows)).not.toContain(first.resource.code!.slice(4));
  });

  it('is refused for an address that cannot be of a user', async () => {
    const { invite } = await given();

    for (const address of ['half', 'İ@bank.example', 'a b@bank.example']) {
      expect(await reasonOf(invite(address, 'viewer'))).toBe('body_malformed');
    }
  });
});

describe('an invitation of an administrator', () => {
  it.each(LOSSES)('who %s is withdrawn, and those of others stay', async (_, change) => {
    const [{ admin, user, invite, accept, workspaceId }, elsewhere] = [await given(), await given()];
    const other = await user();
    const { id: memberId } = await invite(other.email, 'admin', 'viewer');
    const { code: stays } = await invite(newAddress(), 'viewer');
    const [byCode, byEmail] = [newAddress(), newAddress()];
    const by = (email: string) =>
      service.inviteMember(inScope(workspaceId, other.id), { email, roles: ['admin', 'approver'] });
    const { resource: invited } = await by(byCode);
    await by(byEmail);
    await elsewhere.invite(byEmail, 'viewer');

    await change(admin, { memberId, email: other.email, workspaceId });

    expect(await reasonOf(accept(invited.code!))).toBe('invitation_not_found');
    const joined = await directory.userOf({ issuer: ISSUER, subject: `by ${byEmail}`, email: byEmail });
    expect(joined?.grants.map((grant) => grant.workspaceId)).toEqual([elsewhere.workspaceId]);
    expect(await service.getMember(admin, { memberId: invited.id })).toMatchObject({ status: 'removed', roles: [] });
    while ((await recordChanges(world.db)) > 0);
    const { items } = await service.listEvents(admin);
    expect(items.filter(({ type, resource }) => type === 'member.removed' && resource.id === invited.id)).toHaveLength(
      1,
    );
    const { rows } = await world.owner.query<{ entries: number }>(
      `select count(*)::int as entries from audit_outbox, jsonb_array_elements(entries) e
       where workspace_id = $1 and e ->> 'operation' = 'removeMember' and (e ->> 'resourceId')::bigint = $2`,
      [workspaceId, invited.id],
    );
    expect(rows).toEqual([{ entries: 1 }]);
    expect(await accept(stays!)).toMatchObject({ status: 'active' });
  });

  it('is that of the administrator who has made its code last', async () => {
    const { admin, user, invite, accept, workspaceId } = await given();
    const other = await user();
    const { id: memberId } = await invite(other.email, 'admin');
    const email = newAddress();
    await service.inviteMember(inScope(workspaceId, other.id), { email, roles: ['viewer'] });
    const { code } = await invite(email, 'viewer');

    await service.removeMember(admin, { memberId });

    expect(await accept(code!)).toMatchObject({ email, status: 'active' });
  });
});

describe('a change of members', () => {
  it('is refused for a user who is no administrator, or not any more', async () => {
    const { admin, user, invite, self, workspaceId } = await given();
    const other = await user();
    const { id: memberId } = await invite(other.email, 'viewer', 'member', 'approver');
    const as = inScope(workspaceId, other.id);

    for (const call of [
      () => service.inviteMember(as, { email: newAddress(), roles: ['viewer'] }),
      () => service.changeMember(as, { memberId, roles: ['admin'] }),
      () => service.removeMember(as, { memberId: self.id }),
      () => service.removeMember({ ...admin, actor: undefined } as never, { memberId }),
    ]) {
      expect(await reasonOf(call())).toBe('role_insufficient');
    }
  });

  it('leaves the last administrator whose roles count', async () => {
    const { admin, user, invite, self } = await given();
    const [suspended, pending] = [await user(), await user('pending')];
    await invite(suspended.email, 'admin');
    await suspendUser(world.provisioning, 'spec', suspended.email);
    await invite(pending.email, 'admin');
    await invite(newAddress(), 'admin');

    expect(await reasonOf(service.changeMember(admin, { memberId: self.id, roles: ['viewer'] }))).toBe('last_admin');
    expect(await reasonOf(service.removeMember(admin, { memberId: self.id }))).toBe('last_admin');
    expect(await service.changeMember(admin, { memberId: self.id, roles: ['admin', 'viewer'] })).toMatchObject({
      roles: ['viewer', 'admin'],
    });
  });

  it('lets an administrator leave whom another one follows', async () => {
    const { admin, user, invite, self, workspaceId } = await given();
    const other = await user();
    await invite(other.email, 'admin');

    expect(await service.removeMember(admin, { memberId: self.id })).toMatchObject({ status: 'removed' });
    expect(await reasonOf(service.listMembers(admin))).toBeUndefined();
    expect(await reasonOf(service.removeMember(admin, { memberId: self.id }))).toBe('role_insufficient');
    expect(await service.removeMember(inScope(workspaceId, other.id), { memberId: self.id })).toMatchObject({
      status: 'removed',
      pausedOrderIDs: [],
      revokedKeyIDs: [],
    });
  });

  it('has its event and its entry in the audit trail, with the user', async () => {
    const { admin, invite, accept, workspaceId, subject, list } = await given();
    const { id: memberId, code } = await invite(newAddress(), 'viewer');
    await service.changeMember(admin, { memberId, roles: ['member'] });
    await service.changeMember(admin, { memberId, roles: ['member'] });
    const { userID } = await accept(code!);
    while ((await recordChanges(world.db)) > 0);
    await service.removeMember(admin, { memberId });
    while ((await recordChanges(world.db)) > 0);

    const events = (await service.listEvents(admin)).items;
    expect(events.map(({ type, actor }) => [type, actor.id])).toEqual([
      ['member.invited', admin.actor],
      ['member.changed', admin.actor],
      ['member.changed', userID],
      ['member.removed', admin.actor],
    ]);
    expect(events.map(({ resource }) => resource)).toEqual(events.map(() => ({ type: 'member', id: memberId })));
    const { rows } = await world.owner.query<{ entry: Record<string, unknown> }>(
      `select e as entry from audit_outbox, jsonb_array_elements(entries) e
       where workspace_id = $1 and e ->> 'resourceType' = 'member' order by id`,
      [workspaceId],
    );
    const of = (operation: string, userId: number, requestId = 'request-1', by = 'ada') => ({
      ...{ operation, outcome: 'done', resourceType: 'member', resourceId: memberId, userId, requestId },
      actor: { type: 'user', issuer: ISSUER, subject: by },
      sourceAddress: '198.51.100.7',
    });
    expect(rows.map(({ entry }) => entry)).toEqual([
      of('inviteMember', admin.actor),
      of('changeMember', admin.actor),
      of('acceptInvitation', userID!, 'request-2', subject.subject),
      of('removeMember', admin.actor),
    ]);
    const { rows: grants } = await world.owner.query<{ by: string }>(
      `select distinct changed_by as by from directory_change where relation = 'workspace_role' and (record ->> 'workspace_id')::bigint = $1
         and changed_by <> session_user order by 1`,
      [workspaceId],
    );
    expect(grants).toEqual([...new Set([admin.actor, userID!])].sort().map((id) => ({ by: `user ${id}` })));
    expect(await list()).toHaveLength(1);
  });

  it('leaves the directory in agreement with its trail, and the events in order', async () => {
    while ((await recordChanges(world.db)) > 0);
    const { rows } = await world.owner.query<{ id: number }>('select id::int from workspace');
    const ids = rows.map(({ id }) => id);

    expect(await verifyDirectory(world.db, ids)).toEqual([]);
    const findings = await verifyPayments(world.db, ids);
    expect(findings.filter(({ check }) => check === EVENT_CHAIN.check)).toEqual([]);
  });
});

describe('a key that an administrator has created', () => {
  const found = (id: ServiceAccountKeyId) => directory.userOf({ issuer: KEY_ISSUER, subject: String(id) });

  it.each(LOSSES)('who %s is not valid, and those of others stay', async (_, change) => {
    const { admin, user, invite, workspaceId } = await given();
    const other = await user();
    const { id: memberId } = await invite(other.email, 'admin', 'viewer');
    const { resource: program } = await service.createServiceAccount(admin, { name: 'Payroll', roles: ['member'] });
    const ofProgram = { serviceAccountId: program.id };
    const { resource: key } = await service.createServiceAccountKey(inScope(workspaceId, other.id), ofProgram);
    const { resource: own } = await service.createServiceAccountKey(admin, ofProgram);
    const byOperator = await addKey(world.db.as(OPERATOR_ROLE), workspaceId, ofProgram);
    expect(await found(key.id)).toMatchObject({ id: program.id });

    await change(admin, { memberId, email: other.email, workspaceId });

    expect(await found(key.id)).toBeUndefined();
    expect(await found(own.id)).toMatchObject({ id: program.id });
    expect(await found(byOperator.id)).toMatchObject({ id: program.id });
  });

  it('is revoked with the role, with its entry, and does not come back with it', async () => {
    const { admin, user, invite, workspaceId } = await given();
    const other = await user();
    const { id: memberId } = await invite(other.email, 'admin');
    const { resource: program } = await service.createServiceAccount(admin, { name: 'Payroll', roles: ['member'] });
    const as = inScope(workspaceId, other.id);
    const { resource: key } = await service.createServiceAccountKey(as, { serviceAccountId: program.id });

    await service.changeMember(admin, { memberId, roles: ['admin', 'viewer'] });
    expect(await found(key.id)).toBeDefined();
    await service.changeMember(admin, { memberId, roles: ['viewer'] });
    await service.changeMember(admin, { memberId, roles: ['admin'] });

    expect(await found(key.id)).toBeUndefined();
    const { rows } = await world.owner.query(
      `select k.revoked_reason, e ->> 'operation' as operation, (e ->> 'userId')::int as by
       from service_account_key k join audit_outbox o on o.workspace_id = k.workspace_id, jsonb_array_elements(o.entries) e
       where k.id = $1 and e ->> 'resourceType' = 'key' and (e ->> 'resourceId')::bigint = k.id and e ->> 'operation' like 'revoke%'`,
      [key.id],
    );
    const operation = 'revokeServiceAccountKey';
    expect(rows).toEqual([{ revoked_reason: 'creator_without_role', operation, by: admin.actor }]);
  });
});

describe('a removed member', () => {
  it('has no order that runs and no webhook endpoint that receives, and the response lists them', async () => {
    const { ada, provisioning, workspaceId, accountId, member, owner } = world;
    const { id, email } = await member('member', 'admin');
    const later = [await world.orderOf(id), await world.orderOf(id, 'scheduled')];
    const cancelled = await world.orderOf(id);
    await service.cancelOrder(ada, { accountId, orderId: cancelled.orderId });
    const others = await world.orderOf(ada.actor);
    const as = { ...ada, actor: id };
    const { resource: endpoint } = await service.createWebhookEndpoint(as, { url: 'https://hooks.example/one' });
    const { resource: kept } = await service.createWebhookEndpoint(ada, { url: 'https://hooks.example/two' });
    const { resource: program } = await service.createServiceAccount(ada, { name: 'Payroll', roles: ['viewer'] });
    const { resource: expired } = await service.createServiceAccountKey(as, { serviceAccountId: program.id });
    const rotation = { serviceAccountId: program.id, keyId: expired.id, overlapSeconds: 0 };
    const { resource: key } = await service.rotateServiceAccountKey(as, rotation);
    const { resource: adas } = await service.createServiceAccountKey(ada, { serviceAccountId: program.id });
    const memberId = (await service.listMembers(ada)).items.find((one) => one.userID === id)!.id;

    const removed = await service.removeMember(ada, { memberId });

    expect(removed).toMatchObject({ email, status: 'removed', roles: [] });
    expect(removed.pausedOrderIDs).toEqual(later.map(({ orderId }) => orderId));
    expect(removed.disabledWebhookEndpointIDs).toEqual([endpoint.id]);
    expect(removed.revokedKeyIDs).toEqual([key.id]);
    const keys = (await service.listServiceAccountKeys(ada, { serviceAccountId: program.id })).items;
    expect(keys.map((one) => one.id)).toEqual([adas.id, expired.id]);
    for (const order of later) {
      expect(await order.read()).toMatchObject({ status: 'active', pauseReason: 'placer_without_role' });
    }
    expect((await others.read()).pausedAt).toBeUndefined();
    const endpoints = (await service.listWebhookEndpoints(ada)).items;
    expect(endpoints.find((one) => one.id === endpoint.id)).toMatchObject({ disabledReason: 'owner_without_role' });
    expect(endpoints.find((one) => one.id === kept.id)).toMatchObject({ status: 'enabled' });
    expect(await service.removeMember(ada, { memberId })).toMatchObject({
      pausedOrderIDs: removed.pausedOrderIDs,
      disabledWebhookEndpointIDs: [endpoint.id],
      revokedKeyIDs: [key.id],
    });
    const { rows } = await owner.query<{ operation: string; by: number }>(
      `select e ->> 'operation' as operation, (e ->> 'userId')::int as by from audit_outbox, jsonb_array_elements(entries) e
       where workspace_id = $1 and e ->> 'operation' in ('pauseOrder', 'disableWebhookEndpoint', 'revokeServiceAccountKey') order by id`,
      [workspaceId],
    );
    expect(rows).toEqual(
      ['pauseOrder', 'pauseOrder', 'disableWebhookEndpoint', 'revokeServiceAccountKey'].map((operation) => ({
        operation,
        by: ada.actor,
      })),
    );
    await addGrants(provisioning, 'ops', { workspaceId, email, roles: ['member'] });
  });

  describe('with very many later orders', () => {
    const EXTRA = PAUSED_MAX + 20;
    const running = async (id: UserId) => {
      const { rows } = await world.owner.query<{ count: bigint }>(
        `select count(*) from customer_order where placed_by = $1 and status = 'active' and paused_at is null`,
        [id],
      );
      return Number(rows[0]!.count);
    };

    async function removed() {
      const { ada, owner, member } = world;
      const { id, email } = await member();
      const { orderId } = await world.orderOf(id);
      const others = await world.orderOf((await member()).id);
      await owner.query('set session_replication_role = replica');
      await owner.query(
        `insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status, start_at, anchor, repeat_unit, repeat_value, placed_by)
         select workspace_id, account_id, recipient_id, amount, type, status, start_at, anchor, repeat_unit, repeat_value, placed_by
         from customer_order, generate_series(1, $2::int) where id = $1`,
        [orderId, EXTRA],
      );
      await owner.query('reset session_replication_role');
      const { items } = await service.listMembers(ada, { limit: 500 });
      const memberId = items.find((one) => one.userID === id)!.id;
      return { id, email, memberId, others, first: await service.removeMember(ada, { memberId }) };
    }

    it('has no right at once, and a worker pauses the rest in pages, after a crash too', async () => {
      const { ada, owner, workspaceId } = world;
      const { id, memberId, others, first } = await removed();
      expect(first.status).toBe('removed');
      expect(first.pausedOrderIDs).toHaveLength(PAUSED_MAX);
      expect(await running(id)).toBe(EXTRA + 1 - PAUSED_MAX);
      const handler = removedPlacerHandler(world.db);
      const claim = { workspaceId, kind: REMOVED_PLACER, subjectId: id, rail: '', fence: 1n, tries: 1, delays: 0 };
      expect(await handler.run(claim, AbortSignal.abort())).toEqual({ laterMs: 0 });

      await world.work();

      expect(await running(id)).toBe(0);
      expect((await service.removeMember(ada, { memberId })).pausedOrderIDs).toHaveLength(EXTRA + 1);
      expect((await others.read()).pausedAt).toBeUndefined();
      const { rows } = await owner.query<{ by: string; count: number }>(
        `select e -> 'actor' ->> 'type' as by, count(*)::int from customer_order o
         join (select jsonb_array_elements(entries) as e from audit_outbox where workspace_id = $1
               union all select jsonb_build_object('operation', operation, 'resourceId', resource_id, 'actor', actor)
               from audit_event where workspace_id = $1) a on (a.e ->> 'resourceId')::bigint = o.id
         where o.placed_by = $2 and a.e ->> 'operation' = 'pauseOrder' group by 1 order by 1`,
        [workspaceId, id],
      );
      expect(rows).toEqual([
        { by: 'system', count: EXTRA + 1 - PAUSED_MAX },
        { by: 'user', count: PAUSED_MAX },
      ]);
      const { rowCount } = await owner.query('select from work where kind = $1', [REMOVED_PLACER]);
      expect(rowCount).toBe(0);
    });

    it('keeps the rest if the user is a member again', async () => {
      const { provisioning, workspaceId } = world;
      const { id, email } = await removed();
      await addGrants(provisioning, 'ops', { workspaceId, email, roles: ['member'] });
      const handler = removedPlacerHandler(world.db);
      const claim = { workspaceId, kind: REMOVED_PLACER, subjectId: id, rail: '', tries: 1, delays: 0 };
      const { signal } = new AbortController();

      // In another cell, the copy of the removal may come later.
      expect(await handler.run({ ...claim, fence: 1n }, signal)).toEqual({ laterMs: 1_000 });
      expect(await handler.run({ ...claim, fence: 5n }, signal)).toBe('done');

      expect(await running(id)).toBe(EXTRA + 1 - PAUSED_MAX);
    });
  });

  it('leaves a run that is being posted', async () => {
    const { ada, owner, workspaceId, member } = world;
    const { id } = await member();
    const { orderId } = await world.orderOf(id);
    const memberId = (await service.listMembers(ada)).items.find((one) => one.userID === id)!.id as MemberId;
    await owner.query('begin');
    await owner.query(`select set_config('app.workspaces', $1, true)`, [`{${workspaceId}}`]);
    await owner.query('select from customer_order where id = $1 for no key update', [orderId]);

    const removing = service.removeMember(ada, { memberId });
    for (let isBlocked = false; !isBlocked;) {
      const { rows } = await owner.query<{ is_blocked: boolean }>(
        'select exists (select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))) as is_blocked',
      );
      isBlocked = rows[0]!.is_blocked;
    }
    await owner.query(`update execution set status = 'failed', failure_code = 'x' where order_id = $1`, [orderId]);
    await owner.query('commit');

    expect(await removing).toMatchObject({ status: 'removed' });
  });
});

describe('the database', () => {
  it('keeps an administrator of each workspace under any SQL of the service', async () => {
    const { workspaceId } = await given();
    const drop = (text: string) =>
      world.owner.query(`begin; set local app.workspaces = '{${workspaceId}}'; ${text}; commit`);

    for (const change of ['delete from workspace_role', `update workspace_role set role = 'member'`]) {
      await expect(drop(`${change} where workspace_id = ${workspaceId}`)).rejects.toMatchObject({
        code: RULE_VIOLATION.wrongMembers,
      });
      await world.owner.query('rollback');
    }
  });

  it('makes no person of a key, whatever the service has checked', async () => {
    const { admin, invite, accept } = await given();
    const { code, id } = await invite(newAddress(), 'admin');

    await expect(accept(code!, { subject: { issuer: KEY_ISSUER, subject: '1' } })).rejects.toMatchObject({
      code: SQLSTATE.checkViolation,
    });
    expect(await service.getMember(admin, { memberId: id })).toMatchObject({ status: 'invited' });
  });

  it('changes members for administrators only, whatever the service has checked', async () => {
    const { workspaceId, self, user, invite } = await given();
    const other = await user();
    await invite(other.email, 'viewer');
    const calls = [
      `select invite_member(${workspaceId}, 'x@x.example', array['admin'], sha256('x'), now() + interval '1 day', '{}')`,
      `select change_member(${workspaceId}, ${self.id}, array['viewer'], '{}')`,
    ];
    for (const call of calls) {
      for (const actor of ['', String(other.id), '999999']) {
        const attack = world.owner.query(
          `begin; set local role banking_api; select set_config('app.user', '${actor}', true), set_config('app.workspaces', '{${workspaceId}}', true); ${call}; commit`,
        );
        await expect(attack).rejects.toMatchObject({ code: RULE_VIOLATION.wrongMembers });
        await world.owner.query('rollback');
      }
    }
  });

  it('lets no role of the service write members otherwise', async () => {
    const { workspaceId } = await given();
    for (const text of [
      `insert into member (workspace_id, email, roles, code_hash, expires_at, invited_by) values (${workspaceId}, 'x@x.example', '{admin}', sha256('x'), now(), 1)`,
      `update member set roles = '{admin}'`,
      'delete from member',
      'delete from workspace_role',
    ]) {
      const attack = world.owner.query(
        `begin; set local role banking_api; set local app.workspaces = '{${workspaceId}}'; ${text}; commit`,
      );
      await expect(attack).rejects.toMatchObject({ code: '42501' });
      await world.owner.query('rollback');
    }
  });
});
