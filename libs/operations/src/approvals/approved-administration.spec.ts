import { type Approval, ApprovalPending, type ApprovalRule, approvedKey } from '@banking/domain';
import { bind, OPERATOR_ROLE, RULE_VIOLATION, sqlStatement } from '@banking/postgres';
import { addServiceAccount, removeServiceAccount } from '../provisioning/service-accounts.js';
import { approvalWorld, EVERY_ORDER } from '../testing/approval-world.js';
import type { Member } from '../testing/order-world.js';

let world: Awaited<ReturnType<typeof approvalWorld>>;
let [bob, admin, other] = [] as Member[];

beforeAll(async () => {
  world = await approvalWorld();
  bob = await world.person('approver');
  admin = await world.person('admin', 'approver');
  other = await world.person('admin');
});
afterAll(() => world.expectInOrder().finally(() => world.close()));

const ruleOf = (operations: ApprovalRule['operations']): ApprovalRule => ({
  ...{ operations, approvals: 1, roles: ['approver', 'admin'] },
});

/** The approval that a call waits for. */
async function pendingOf(call: Promise<unknown>): Promise<Approval> {
  const error: unknown = await call.then(
    () => new Error('was carried out'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApprovalPending)) throw error as Error;
  return error.approval;
}

/** Approves what a call waits for, and lets the worker carry it out. */
async function carriedOut(call: Promise<unknown>): Promise<Approval> {
  const { id } = await pendingOf(call);
  await world.approve(other!, id);
  await world.work();
  return world.service.getApproval(bob!, { approvalId: id });
}

const write = (text: string, ...values: unknown[]) =>
  world.database.write({ workspaces: [world.workspaceId], user: admin!.actor }, [
    bind(sqlStatement(text.slice(0, 40), text), ...values),
  ]);

describe('limits', () => {
  it('are replaced with approvals, and not around them', async () => {
    await world.setRules(ruleOf('limits'));
    const service = world.open();
    const { version } = await service.getLimits(admin!);
    const limits = [{ scope: 'workspace', metric: 'amount', per: 'day', value: '5000000', currency: 'USD' }] as const;
    const replace = () => service.replaceLimits(admin!, { version, limits });
    const first = await pendingOf(replace());
    expect(await pendingOf(replace())).toEqual(first);
    expect((await carriedOut(replace())).outcome).toMatchObject({ status: 'carried_out' });
    expect(await service.getLimits(admin!)).toMatchObject({ limits: [{ value: '5000000' }] });
    await expect(
      world.service.carryingOut(world.database, first.id).replaceLimits(admin!, { version: version + 1, limits: [] }),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
  });
});

describe('members', () => {
  /** Invites with an approval: the maker repeats the request after it. */
  async function invited(email: string) {
    const service = world.open();
    const options = { idempotencyKey: email };
    const invite = () => service.inviteMember(admin!, { email, roles: ['viewer'] }, options);
    const { id: approvalId } = await carriedOut(invite());
    const made = await invite();
    expect(made.isReplay).toBe(false);
    const again = await invite();
    expect(again).toMatchObject({ isReplay: true, resource: { id: made.resource.id } });
    expect(again.resource).not.toHaveProperty('code');
    const { outcome } = await service.getApproval(admin!, { approvalId });
    expect(outcome).toMatchObject({
      status: 'carried_out',
      resource: { type: 'member', id: made.resource.id },
    });
    return made.resource;
  }

  it('accept an approved invitation by its code, which the maker gets once', async () => {
    await world.setRules(ruleOf('members'));
    const service = world.open();
    const input = { email: 'coded@northwind.example', roles: ['viewer'] } as const;
    await expect(service.inviteMember(admin!, input)).rejects.toMatchObject({ reason: 'idempotency_key_invalid' });
    const { code } = await invited(input.email);
    const subject = { issuer: 'https://id.northwind.example', subject: 'coded' };
    const scope = { workspaceId: world.workspaceId, subject } as never;
    expect(await service.acceptInvitation(scope, { code: code! })).toMatchObject({ roles: ['viewer'] });
  });

  it('have their roles at once if the address is of a user', async () => {
    await world.setRules(ruleOf('members'));
    const known = await world.person();
    const member = await invited(known.email);
    expect(member).toMatchObject({ userID: known.actor, status: 'active', roles: ['viewer'] });
    expect(member).not.toHaveProperty('code');
  });

  it('are invited and changed with approvals, and removed without', async () => {
    await world.setRules(ruleOf('members'));
    const service = world.open();
    const memberId = (await invited('new@northwind.example')).id as never;
    const changed = await carriedOut(service.changeMember(admin!, { memberId, roles: ['member'] }));
    expect(changed).toMatchObject({ shown: { roles: ['viewer'] }, outcome: { status: 'carried_out' } });
    expect(await service.getMember(admin!, { memberId })).toMatchObject({ roles: ['member'] });
    await expect(
      write(
        'select change_member($1, $2, $3, $4)',
        world.workspaceId,
        memberId,
        ['admin'],
        '{"actor":{"type":"user"}}',
      ),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    await service.removeMember(admin!, { memberId });
  });
});

describe('service accounts', () => {
  it('are made and changed with approvals, by operators without, and not around them in the directory', async () => {
    await world.setRules(ruleOf('serviceAccounts'));
    const service = world.open();
    const input = { name: 'Payroll', roles: ['viewer'] } as const;
    const { outcome } = await carriedOut(service.createServiceAccount(admin!, input));
    const serviceAccountId = outcome!.resource!.id as never;
    const changed = await carriedOut(service.changeServiceAccount(admin!, { serviceAccountId, roles: ['member'] }));
    expect(changed.outcome).toMatchObject({ status: 'carried_out' });
    expect(await service.getServiceAccount(admin!, { serviceAccountId })).toMatchObject({ roles: ['member'] });

    for (const user of [serviceAccountId, null]) {
      await expect(
        write('select put_service_user($1, $2, $3)', world.workspaceId, user, ['viewer', 'member']),
      ).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    }

    const asOperator = world.database.as(OPERATOR_ROLE);
    const { id } = await addServiceAccount(asOperator, undefined, world.workspaceId, input);
    await removeServiceAccount(asOperator, undefined, world.workspaceId, { serviceAccountId: id });
    const { rows } = await world.owner.query(
      `select actor ->> 'type' as type from (
         select entries -> 0 -> 'actor' as actor, entries -> 0 ->> 'resourceId' as id, entries -> 0 ->> 'operation' as operation from audit_outbox
         union all select actor, resource_id::text, operation from audit_event) e
       where id = $1 and operation in ('createServiceAccount', 'deleteServiceAccount')`,
      [String(id)],
    );
    expect(rows).toEqual([{ type: 'operator' }, { type: 'operator' }]);
    const told = await world.owner.query(
      `select actor_type as type from change_outbox where changes -> 0 ->> 2 = $1 and changes -> 0 ->> 1 like 'serviceAccount.%'
       union all select actor ->> 'type' from event where resource_id = $2 and type like 'serviceAccount.%'`,
      [String(id), id],
    );
    expect(told.rows).toEqual([{ type: 'operator' }, { type: 'operator' }]);
  });
});

describe('a request of a group whose resources only administrators read', () => {
  it('is shown to them, to approvers whom it names and to its maker, and is not found by anyone else', async () => {
    const maker = await world.person('admin');
    const [viewer, member] = [await world.person('viewer'), await world.person('member')];
    await world.setRules();
    const before = world.open();
    const key = await before.createServiceAccount(admin!, { name: 'Reader', roles: ['viewer'] });
    const reader = { workspaceId: world.workspaceId, actor: key.resource.id as never } as Member;
    const ask = async (roles: ApprovalRule['roles'], as: Member): Promise<readonly Approval[]> => {
      await world.setRules(
        ...(['members', 'endpoints', 'serviceAccounts', 'keys'] as const).map((group) => ({ ...ruleOf(group), roles })),
      );
      const service = world.open();
      const options = { idempotencyKey: `shown-to-${roles.join()}` };
      const name = { serviceAccountId: key.resource.id };
      return [
        await pendingOf(service.inviteMember(as, { email: 'hidden@northwind.example', roles: ['viewer'] }, options)),
        await pendingOf(service.createWebhookEndpoint(as, { url: 'https://a.example/token' }, options)),
        await pendingOf(service.createServiceAccount(as, { name: 'Hidden', roles: ['viewer'] }, options)),
        await pendingOf(service.createServiceAccountKey(as, name, options)),
      ];
    };
    const ofAdministrators = await ask(['admin'], maker);
    const ofApprovers = await ask(['approver'], maker);
    // Of a group that everyone reads.
    await world.setRules(ruleOf('recipients'));
    const { code: accountCode = '' } = await before.getAccount(admin!, { accountId: world.payeeId });
    const open = await pendingOf(world.open().addInternalRecipient(admin!, { accountCode, name: 'Open' }));
    await world.owner.query(`delete from workspace_role where user_id = $1 and role = 'admin'`, [maker.actor]);
    await world.grant(maker.email, 'viewer');

    const { service } = world;
    const idsOf = (approvals: readonly Approval[]) => approvals.map(({ id }) => id);
    /** By pages of one, so that what is hidden leaves no gap. */
    const listed = async (by: Member): Promise<readonly Approval[]> => {
      const items: Approval[] = [];
      let cursor: string | undefined;
      do {
        const page = await service.listApprovals(by, { status: 'required', limit: 1, cursor });
        expect(page.items).toHaveLength(1);
        items.push(...page.items);
        cursor = page.next;
      } while (cursor !== undefined);
      return items;
    };
    const all = [...ofAdministrators, ...ofApprovers, open];
    for (const [by, shown] of [
      [other!, all],
      [maker, all],
      [bob!, [...ofApprovers, open]],
      [viewer, [open]],
      [member, [open]],
      [reader, [open]],
    ] as const) {
      const ids = idsOf(await listed(by));
      expect(ids.filter((id) => idsOf(all).includes(id))).toEqual([...idsOf(shown)].reverse());
      for (const { id } of all) {
        const read = service.getApproval(by, { approvalId: id });
        if (idsOf(shown).includes(id)) expect((await read).id).toBe(id);
        else await expect(read).rejects.toMatchObject({ reason: 'approval_not_found' });
      }
    }
    const hidden = { approvalId: ofAdministrators[0]!.id };
    await expect(service.decideApproval(bob!, { ...hidden, decision: 'approve', version: 1 })).rejects.toMatchObject({
      reason: 'approval_not_found',
    });
    await expect(service.withdrawApproval(member, hidden)).rejects.toMatchObject({ reason: 'approval_not_found' });
  });
});

describe('a creation from before its rule', () => {
  it('has its first response for its key, and no approval is asked for', async () => {
    await world.setRules();
    const before = world.open();
    const account = await before.createServiceAccount(admin!, { name: 'Early', roles: ['viewer'] });
    const serviceAccountId = account.resource.id;
    const { code: accountCode = '' } = await before.getAccount(admin!, { accountId: world.payeeId });
    const options = { idempotencyKey: 'early' };
    type Creation = (service: typeof before, text: string) => Promise<{ resource: { id: number }; isReplay: boolean }>;
    const creations: Readonly<Record<string, Creation>> = {
      recipient: (service, name) => service.addInternalRecipient(admin!, { accountCode, name }, options),
      endpoint: (service, path) => service.createWebhookEndpoint(admin!, { url: `https://a.example/${path}` }, options),
      serviceAccount: (service, name) => service.createServiceAccount(admin!, { name, roles: ['viewer'] }, options),
      member: (service, name) =>
        service.inviteMember(admin!, { email: `${name}@northwind.example`, roles: ['viewer'] }, options),
      key: (service, text) =>
        service.createServiceAccountKey(
          admin!,
          { serviceAccountId, expiresAt: `20${text.length + 90}-01-01T00:00:00Z` },
          options,
        ),
    };
    const made = new Map<string, number>();
    for (const [name, create] of Object.entries(creations)) made.set(name, (await create(before, 'one')).resource.id);

    const groups = ['recipients', 'endpoints', 'serviceAccounts', 'members', 'keys'] as const;
    await world.setRules(...groups.map(ruleOf));
    const approvals = () => before.listApprovals(admin!, { status: 'required', limit: 100 });
    const waiting = await approvals();
    for (const [name, create] of Object.entries(creations)) {
      const service = world.open();
      const again = await create(service, 'one');
      expect([name, again.resource.id, again.isReplay]).toEqual([name, made.get(name), true]);
      expect(again.resource).not.toHaveProperty('secret');
      await expect(create(service, 'three')).rejects.toMatchObject({ reason: 'idempotency_key_reused' });
    }
    expect(await approvals()).toEqual(waiting);
  });
});

describe('a service account', () => {
  it('is created with approvals, and its keys by the maker who gets the secret once', async () => {
    await world.setRules(ruleOf('serviceAccounts'), ruleOf('keys'));
    const service = world.open();
    const { outcome } = await carriedOut(service.createServiceAccount(admin!, { name: 'Payroll', roles: ['member'] }));
    const serviceAccountId = outcome!.resource!.id as never;
    const name = { serviceAccountId };
    await expect(service.createServiceAccountKey(admin!, name)).rejects.toMatchObject({
      reason: 'idempotency_key_invalid',
    });
    const options = { idempotencyKey: 'payroll' };
    const create = (by = admin!) => service.createServiceAccountKey(by, name, options);
    const approval = await pendingOf(create());
    expect(await pendingOf(create())).toEqual(approval);
    await world.approve(other!, approval.id);
    await world.work();
    expect((await service.listServiceAccountKeys(admin!, name)).items).toEqual([]);
    expect(await pendingOf(create(other!))).toEqual(approval);

    const made = await create();
    expect(made).toMatchObject({ isReplay: false, resource: { secret: expect.any(String) as string } });
    const again = await create();
    expect(again.isReplay).toBe(true);
    expect(again.resource).not.toHaveProperty('secret');
    expect((await service.listServiceAccountKeys(admin!, name)).items).toHaveLength(1);
    const read = await service.getApproval(admin!, { approvalId: approval.id });
    expect(read.outcome).toMatchObject({ status: 'carried_out', resource: { type: 'key', id: made.resource.id } });

    // One approval is one key.
    await expect(
      world.service
        .carryingOut(world.database, approval.id)
        .createServiceAccountKey(admin!, name, { idempotencyKey: approvedKey('0'.repeat(64)) }),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    const keyId = made.resource.id;
    await pendingOf(service.rotateServiceAccountKey(admin!, { ...name, keyId }, { idempotencyKey: 'rotated' }));
    await service.revokeServiceAccountKey(admin!, { ...name, keyId });
  });

  it('never approves, and nor does a person behind it', async () => {
    await world.setRules();
    const service = world.open();
    const { resource } = await service.createServiceAccount(admin!, { name: 'Shop', roles: ['member'] });
    const shop = { workspaceId: world.workspaceId, actor: resource.id as never } as Member;
    await world.setRules(EVERY_ORDER);
    const { resource: order } = await world.open().placeOrder(shop, world.order());
    const approvalId = order.approvalID!;
    const decide = (by: Member) => service.decideApproval(by, { approvalId, decision: 'approve', version: 1 });
    await expect(decide(shop)).rejects.toMatchObject({ reason: 'approver_is_maker' });
    await expect(decide(admin!)).rejects.toMatchObject({ reason: 'approver_is_maker' });
    const { resource: another } = await world.service.placeOrder(world.ada, world.order());
    await expect(
      service.decideApproval(shop, { approvalId: another.approvalID!, decision: 'approve', version: 1 }),
    ).rejects.toMatchObject({ reason: 'role_insufficient' });
    await decide(bob!);
    await world.work();
    expect(await world.reread(order)).toMatchObject({ status: 'completed' });
  });
});
