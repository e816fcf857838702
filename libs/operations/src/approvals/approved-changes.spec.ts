import { type Approval, ApprovalPending, approvedKey, type ApprovalRule } from '@banking/domain';
import { bind, RULE_VIOLATION, sqlStatement, WORKER_ROLE } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { approvalWorld } from '../testing/approval-world.js';
import { outcomeOf } from '../testing/event-world.js';
import type { Member } from '../testing/order-world.js';

let world: Awaited<ReturnType<typeof approvalWorld>>;
let [bob, maker, admin, other] = [] as Member[];

beforeAll(async () => {
  world = await approvalWorld();
  bob = await world.person('approver');
  maker = await world.person('member');
  admin = await world.person('admin');
  other = await world.person('admin');
});
afterAll(() => world.expectInOrder().finally(() => world.close()));

const ruleOf = (operations: ApprovalRule['operations'], roles: ApprovalRule['roles'] = ['approver']): ApprovalRule => ({
  ...{ operations, approvals: 1, roles },
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

const read = ({ id }: Approval) => world.service.getApproval(world.ada, { approvalId: id });

describe('a recipient that needs an approval', () => {
  beforeAll(() => world.setRules(ruleOf('recipients')));
  const add = (name: string, options = {}) =>
    world.open().addInternalRecipient(maker!, { accountCode: code, name }, options);
  let code = '';
  beforeAll(async () => {
    code = (await world.service.getAccount(world.ada, { accountId: world.payeeId })).code!;
  });
  const named = async (name: string) =>
    (await world.service.listRecipients(world.ada, { limit: 500 })).items.filter((one) => one.name === name);

  it('is added once by the worker, after it is approved', async () => {
    const approval = await pendingOf(add('Waits'));
    expect(approval).toMatchObject({
      ...{ status: 'required', operation: 'addInternalRecipient', operations: 'recipients' },
      ...{ input: { accountCode: code, name: 'Waits' }, makerID: maker!.actor },
    });
    await world.work();
    expect(await named('Waits')).toEqual([]);

    await world.approve(bob!, approval.id);
    await world.work();
    const [added, ...more] = await named('Waits');
    expect(more).toEqual([]);
    expect((await read(approval)).outcome).toMatchObject({
      status: 'carried_out',
      resource: { type: 'recipient', id: added!.id },
    });
  });

  it('waits as the same request for the same key, and as another one without', async () => {
    const first = await pendingOf(add('Twice', { idempotencyKey: 'twice' }));
    expect(await pendingOf(add('Twice', { idempotencyKey: 'twice' }))).toEqual(first);
    await expect(add('Thrice', { idempotencyKey: 'twice' })).rejects.toMatchObject({
      reason: 'idempotency_key_reused',
    });
    expect((await pendingOf(add('Twice'))).id).not.toBe(first.id);
    await world.approve(bob!, first.id);
    await world.work();
    expect(await pendingOf(add('Twice', { idempotencyKey: 'twice' }))).toEqual(first);
    expect(await named('Twice')).toHaveLength(1);
  });

  it('is refused as the outcome if it can no longer be added', async () => {
    const { code: former = '' } = await world.service.getAccount(world.ada, { accountId: await world.account('0') });
    const rename = async (from: string, to: string) => {
      await world.owner.query(`set session_replication_role = replica`);
      await world.owner.query(`update account_code set code = $2 where code = $1`, [from, to]);
      await world.owner.query(`reset session_replication_role`);
    };
    const approval = await pendingOf(world.open().addInternalRecipient(maker!, { accountCode: former }));
    await rename(former, 'XX00');
    await world.approve(bob!, approval.id);
    await world.work();
    await rename('XX00', former);
    expect((await read(approval)).outcome).toMatchObject({ status: 'refused', reason: 'recipient_invalid' });
  });

  it('is refused at once if it cannot be added now, with a key and without', async () => {
    const service = world.open();
    const GB = { countryCode: 'GB', currencyCode: 'GBP', payoutMethod: 'LOCAL' };
    const data = { beneficiaryName: 'Ada', beneficiaryAccountType: 'Individual' };
    const waiting = () => world.service.listApprovals(world.ada, { status: 'required', limit: 500 });
    const before = await waiting();
    for (const options of [{}, { idempotencyKey: 'not-addable' }]) {
      const outcomes = [
        await outcomeOf(service.addInternalRecipient(maker!, { accountCode: 'XX00' }, options)),
        await outcomeOf(service.addInternationalRecipient(maker!, { ...GB, data } as never, options)),
        await outcomeOf(
          service.addInternationalRecipient(maker!, { ...GB, countryCode: 'XX', data } as never, options),
        ),
      ];
      expect(outcomes).toEqual(['recipient_invalid', 'recipient_invalid', 'corridor_not_found']);
    }
    expect(await waiting()).toEqual(before);
  });

  it('is carried out once if a worker dies before it writes the outcome', async () => {
    const added = await pendingOf(add('Died'));
    const renamed = await pendingOf(
      world.service.changeRecipient(maker!, { recipientId: world.recipientID, alias: 'Died' }),
    );
    for (const { id } of [added, renamed]) await world.approve(bob!, id);
    const worker = world.database.as(WORKER_ROLE);
    // An approval of one recipient changes no other.
    const [another] = await named('Waits');
    await expect(
      world.service
        .carryingOut(worker, renamed.id)
        .changeRecipient(maker!, { recipientId: another!.id, alias: 'Died' }),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    const options = { idempotencyKey: approvedKey(added.digest) };
    await world.service.carryingOut(worker, added.id).addInternalRecipient(maker!, added.input as never, options);
    await world.service
      .carryingOut(worker, renamed.id)
      .changeRecipient(maker!, { recipientId: world.recipientID, alias: 'Died' });
    const [recipient] = await named('Died');
    // A second worker at the same time changes nothing.
    await expect(
      world.service.carryingOut(worker, renamed.id).changeRecipient(maker!, {
        ...{ recipientId: world.recipientID, alias: 'Another' },
      }),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    await world.work();

    expect(await named('Died')).toEqual([recipient]);
    expect((await read(added)).outcome).toMatchObject({ status: 'carried_out', resource: { id: recipient!.id } });
    expect((await read(renamed)).outcome).toMatchObject({
      status: 'carried_out',
      resource: { id: world.recipientID },
    });
  });

  it('is asked for once, also if the same change is sent several times at the same moment', async () => {
    const service = world.open();
    await world.owner.query('begin');
    await world.owner.query('lock table approval in share mode');
    const requests = [1, 2, 3].map(() =>
      pendingOf(service.changeRecipient(maker!, { recipientId: world.recipientID, alias: 'At once' })),
    );
    await until(async () => {
      const { rowCount } = await world.owner.query(
        `select distinct pid from pg_locks join pg_stat_activity using (pid)
         where not granted and datname = current_database()`,
      );
      return rowCount === requests.length;
    });
    await world.owner.query('rollback');

    expect(new Set((await Promise.all(requests)).map(({ id }) => id)).size).toBe(1);
  });

  it('is changed and deleted with approvals, and what waits is not asked for twice', async () => {
    const recipientId = world.recipientID;
    const change = () => world.service.changeRecipient(maker!, { recipientId, alias: 'Other name' });
    const approval = await pendingOf(change());
    expect(approval.shown).toMatchObject({ id: recipientId });
    expect(await pendingOf(change())).toEqual(approval);
    await world.approve(bob!, approval.id);
    await world.work();
    expect(await world.service.getRecipient(maker!, { recipientId })).toMatchObject({ alias: 'Other name' });

    const deletion = await pendingOf(world.service.deleteRecipient(maker!, { recipientId }));
    await world.approve(bob!, deletion.id);
    await world.work();
    expect((await read(deletion)).outcome).toMatchObject({ status: 'carried_out' });
    await expect(world.service.getRecipient(maker!, { recipientId })).rejects.toMatchObject({
      reason: 'recipient_not_found',
    });
    await expect(world.service.deleteRecipient(maker!, { recipientId })).rejects.toMatchObject({
      reason: 'recipient_not_found',
    });
  });

  it('takes no key of the worker', async () => {
    const idempotencyKey = `approval-${'0'.repeat(64)}`;
    await expect(add('Forged', { idempotencyKey })).rejects.toMatchObject({ reason: 'idempotency_key_invalid' });
  });

  it('is refused by the database without them, and if it is another one than was approved', async () => {
    const insert = (name: string, approval?: number, account = code, role = 'banking_worker') =>
      (approval === undefined ? world.database : world.database.as(role).carryingOut(approval)).write(
        { workspaces: [world.workspaceId] },
        [
          bind(
            sqlStatement(
              'forged_recipient',
              `insert into recipient (workspace_id, kind, name, account_code, currency_id)
               select $1, 'internal', $2, $3, currency_id from account_code where code = $4`,
            ),
            ...[world.workspaceId, name, account, code],
          ),
        ],
      );
    await expect(insert('No rule')).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    const approval = await pendingOf(add('Bound'));
    await expect(insert('Bound', approval.id)).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    await world.approve(bob!, approval.id);
    await expect(insert('Bound', approval.id, 'another')).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    await world.work();
    await expect(insert('Bound', approval.id)).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    expect(await named('Bound')).toHaveLength(1);
  });
});

describe('a webhook endpoint that needs an approval', () => {
  it('is created, changed and deleted by the worker, and disabled by anyone who may', async () => {
    await world.setRules(ruleOf('endpoints', ['approver', 'admin']));
    const service = world.open();
    const creation = await pendingOf(service.createWebhookEndpoint(admin!, { url: 'https://hooks.example/a' }));
    await expect(world.approve(admin!, creation.id)).rejects.toMatchObject({ reason: 'approver_is_maker' });
    await world.approve(other!, creation.id);
    await world.work();
    const { resource } = (await read(creation)).outcome!;
    const webhookEndpointId = resource!.id as never;
    expect(await service.rotateWebhookSecret(admin!, { webhookEndpointId })).toMatchObject({
      secret: expect.any(String) as string,
    });

    const url = 'https://hooks.example/b';
    const change = await pendingOf(service.changeWebhookEndpoint(admin!, { webhookEndpointId, url }));
    expect(change.shown).toMatchObject({ url: 'https://hooks.example/a' });
    await world.approve(bob!, change.id);
    await world.work();
    expect(await service.getWebhookEndpoint(admin!, { webhookEndpointId })).toMatchObject({ url });
    const deletion = await pendingOf(service.deleteWebhookEndpoint(admin!, { webhookEndpointId }));
    await world.approve(bob!, deletion.id);
    await world.work();
    expect((await read(deletion)).outcome).toMatchObject({ status: 'carried_out' });
  });
});

describe('the approval rules', () => {
  const replace = (by: Member, version: number, ...rules: readonly ApprovalRule[]) =>
    world.open().replaceApprovalRules(by, { version, rules });
  const versionNow = async () => (await world.service.getApprovalRules(world.ada)).version;

  it('are replaced as a whole, once for a repeated request', async () => {
    await world.setRules();
    const version = await versionNow();
    const done = await replace(admin!, version, ruleOf('orders'));
    expect(done).toMatchObject({ version: version + 1, rules: [ruleOf('orders')], changedBy: admin!.actor });
    expect(await replace(admin!, version, ruleOf('orders'))).toEqual(done);
    await expect(replace(admin!, version, ruleOf('recipients'))).rejects.toMatchObject({ reason: 'approval_changed' });
    const both = await Promise.allSettled([
      replace(admin!, version + 1, ruleOf('recipients')),
      replace(other!, version + 1, ruleOf('endpoints')),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('are refused if no one could meet them, or they do not fit together', async () => {
    const version = await versionNow();
    for (const [rule, reason] of [
      [{ ...ruleOf('rules', ['admin']), approvals: 5 }, 'approval_impossible'],
      [{ ...ruleOf('orders'), accountID: 999_999 }, 'account_not_found'],
      [{ ...ruleOf('orders'), amountAbove: [{ currencyCode: 'XXX', amount: '1' }] }, 'body_malformed'],
      [ruleOf('orders', ['admin']), 'body_malformed'],
      [{ ...ruleOf('members'), recipientNewerThanDays: 1 }, 'body_malformed'],
      [{ ...ruleOf('orders'), approvals: 6 }, 'body_malformed'],
    ] as const) {
      await expect(replace(admin!, version, rule as ApprovalRule)).rejects.toMatchObject({ reason });
    }
  });

  it('are replaced with the approvals of the rules in force', async () => {
    await world.setRules(ruleOf('rules', ['admin']));
    const version = await versionNow();
    const approval = await pendingOf(replace(admin!, version));
    expect(await pendingOf(replace(admin!, version))).toEqual(approval);
    expect(await versionNow()).toBe(version);
    await world.approve(other!, approval.id);
    await world.work();
    expect(await world.service.getApprovalRules(world.ada)).toMatchObject({ version: version + 1, rules: [] });
  });

  it('are taken by a process that knows former ones', async () => {
    await world.setRules();
    const late = world.open();
    const add = () => late.addInternalRecipient(maker!, { accountCode: 'XX' });
    await expect(add()).rejects.toMatchObject({ reason: 'recipient_invalid' });
    await world.setRules(ruleOf('recipients'));
    const { code = '' } = await world.service.getAccount(world.ada, { accountId: world.payeeId });
    const approval = await pendingOf(late.addInternalRecipient(maker!, { accountCode: code }));
    expect(approval.status).toBe('required');
    expect((await world.service.listApprovals(world.ada, { status: 'required', limit: 1 })).items).toEqual([approval]);
    await world.service.withdrawApproval(maker!, { approvalId: approval.id });
    expect(await world.service.withdrawApproval(maker!, { approvalId: approval.id })).toMatchObject({
      status: 'withdrawn',
    });
  });
});

describe('a request that its input alone refuses', () => {
  const INDIA = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' };
  const TEXTS = [1.5, 2 ** 53, null, true, '\ud800', 'Asha\u202eoaR', 'a\u0000b', ['\ud800'], { '\ud800': 1 }];
  let sent = 0;

  /** With a key and without. */
  const outcomes = async (call: (options: { readonly idempotencyKey?: string }) => Promise<unknown>) => {
    sent += 1;
    return [await outcomeOf(call({})), await outcomeOf(call({ idempotencyKey: `refused-${sent}` }))];
  };
  const waiting = async () => (await world.service.listApprovals(world.ada, { status: 'required', limit: 500 })).items;

  it.each([
    [
      'in a workspace whose rules name it',
      [ruleOf('recipients'), ruleOf('keys'), ruleOf('limits', ['admin']), ruleOf('rules', ['admin'])],
    ],
    ['in a workspace that had rules', []],
  ])('is refused as without rules, and not stored, %s', async (_, rules) => {
    await world.setRules(...rules);
    const before = await waiting();
    const service = world.open();

    for (const value of TEXTS) {
      const data = { beneficiaryName: value } as never;
      expect(
        await outcomes((options) => service.addInternationalRecipient(maker!, { ...INDIA, data } as never, options)),
      ).toEqual(['recipient_invalid', 'recipient_invalid']);
    }
    const key = { serviceAccountId: 1 as never, networks: ['\ud800'] };
    expect(await outcomes((options) => service.createServiceAccountKey(admin!, key, options))).toEqual([
      'network_invalid',
      'network_invalid',
    ]);
    const limit = { scope: 'person', metric: 'amount', per: 'day', value: '1' } as never;
    expect(await outcomeOf(service.replaceLimits(admin!, { version: 0, limits: [limit] }))).toBe(
      'payment_limit_invalid',
    );
    const rule = { ...ruleOf('limits'), accountID: 1 as never };
    expect(await outcomeOf(service.replaceApprovalRules(admin!, { version: 0, rules: [rule] }))).toBe('body_malformed');

    expect(await waiting()).toEqual(before);
  });
});
