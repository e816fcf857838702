import type { Order, OrderId, TransferAmount } from '@banking/domain';
import { bind, RULE_VIOLATION, sqlStatement } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { approvalWorld, EVERY_ORDER } from '../testing/approval-world.js';
import { resumePausedOrder } from '../provisioning/index.js';
import { type Member, statesOf } from '../testing/order-world.js';

let world: Awaited<ReturnType<typeof approvalWorld>>;
let [bob, carl, maker] = [] as Member[];

beforeAll(async () => {
  world = await approvalWorld();
  bob = await world.person('approver');
  carl = await world.person('approver');
  maker = await world.person('member');
});
afterAll(() => world.expectInOrder().finally(() => world.close()));
beforeEach(() => world.setRules(EVERY_ORDER));

const place = async (more: Parameters<typeof world.order>[0] = {}, options = {}): Promise<Order> =>
  (await world.service.placeOrder(maker!, world.order(more), options)).resource;

const approvalOf = (order: Order) => world.service.getApproval(maker!, { approvalId: order.approvalID! });

describe('an order that needs an approval', () => {
  it('waits without moving money, and is paid once after it', async () => {
    const before = await world.balanceOf();
    const order = await place();

    expect([order.status, statesOf(order)]).toEqual(['active', ['awaiting_approval']]);
    await world.work();
    expect(await world.balanceOf()).toBe(before);
    const approval = await approvalOf(order);
    expect(approval).toMatchObject({
      status: 'required',
      operation: 'placeOrder',
      operations: 'orders',
      makerID: maker!.actor,
      orderID: order.id,
      input: { amount: '100', accountID: world.accountId, recipientID: world.recipientID, type: 'instant' },
      shown: { amount: '100', currencyCode: 'USD', feeAmount: '0', targetAmount: '100' },
      requirements: [{ approvals: 1, roles: ['approver'] }],
      decisions: [],
    });

    expect(await world.approve(bob!, approval.id)).toMatchObject({
      status: 'approved',
      version: 2,
      decisions: [{ userID: bob!.actor, decision: 'approve', roles: ['approver'] }],
    });
    await world.work();
    await world.work();

    const paid = await world.reread(order);
    expect([paid.status, statesOf(paid)]).toEqual(['completed', ['completed']]);
    expect(await world.balanceOf()).toBe(before - 100n);
    expect((await approvalOf(order)).outcome).toMatchObject({
      status: 'carried_out',
      resource: { type: 'order', id: order.id },
    });
  });

  it('waits by a rule that is newer than what the service remembers of its payments, also above the balance', async () => {
    await world.setRules();
    expect(statesOf(await place())).toEqual(['completed']);
    expect(statesOf(await place())).toEqual(['completed']);

    await world.setRules(EVERY_ORDER);

    expect(statesOf(await place({ amount: '99999999' as TransferAmount }))).toEqual(['awaiting_approval']);
  });

  it('has the same response for the same key, also after it was paid', async () => {
    const first = await place({}, { idempotencyKey: 'same' });
    expect(await world.service.placeOrder(maker!, world.order(), { idempotencyKey: 'same' })).toEqual({
      resource: first,
      isReplay: true,
    });
    await world.approve(bob!, first.approvalID!);
    await world.work();
    expect(await world.service.placeOrder(maker!, world.order(), { idempotencyKey: 'same' })).toEqual({
      resource: first,
      isReplay: true,
    });
  });

  it('is not approved by its maker, by a user without the role, twice by one person, or in another version', async () => {
    await world.setRules({ ...EVERY_ORDER, approvals: 2 });
    const both = await world.person('approver', 'member');
    const order = (await world.service.placeOrder(both, world.order())).resource;
    const approvalId = order.approvalID!;
    const decide = (by: Member, version = 1) =>
      world.service.decideApproval(by, { approvalId, decision: 'approve', version });

    await expect(decide(both)).rejects.toMatchObject({ reason: 'approver_is_maker' });
    await expect(decide(world.ada)).rejects.toMatchObject({ reason: 'role_insufficient' });
    await expect(decide(bob!, 2)).rejects.toMatchObject({ reason: 'approval_changed' });
    expect(await decide(bob!)).toMatchObject({ status: 'required', version: 2 });
    expect(await decide(bob!)).toMatchObject({ status: 'required', version: 2 });
    await expect(
      world.service.decideApproval(bob!, { approvalId, decision: 'reject', version: 2 }),
    ).rejects.toMatchObject({ reason: 'approval_closed' });
    expect(await decide(carl!, 2)).toMatchObject({ status: 'approved' });
    await world.work();
    expect(await world.reread(order)).toMatchObject({ status: 'completed' });
  });

  it('fails if it is rejected, and is cancelled if it is withdrawn or cancelled', async () => {
    const [rejected, withdrawn, cancelled] = [await place(), await place(), await place()];
    await world.service.decideApproval(bob!, {
      ...{ approvalId: rejected.approvalID!, decision: 'reject', comment: 'Not ours', version: 1 },
    });
    await expect(world.service.withdrawApproval(bob!, { approvalId: withdrawn.approvalID! })).rejects.toMatchObject({
      reason: 'role_insufficient',
    });
    await world.service.withdrawApproval(maker!, { approvalId: withdrawn.approvalID! });
    await world.service.cancelOrder(maker!, { accountId: world.accountId, orderId: cancelled.id });
    await world.work();

    const failed = await world.reread(rejected);
    expect([failed.status, failed.edges.executions![0]]).toMatchObject([
      'failed',
      { status: 'failed', failureCode: 'approval_rejected' },
    ]);
    for (const order of [withdrawn, cancelled]) {
      const read = await world.reread(order);
      expect([read.status, statesOf(read), (await approvalOf(order)).status]).toEqual([
        ...['cancelled', ['cancelled'], 'withdrawn'],
      ]);
    }
    await expect(world.approve(bob!, rejected.approvalID!)).rejects.toMatchObject({ reason: 'approval_closed' });
  });

  it.each(['withdrawal', 'rejection'])(
    'is locked before its approval by a %s, as by its cancellation',
    async (kind) => {
      const order = await place();
      const { approvalID: approvalId } = order;
      await world.owner.query('begin');
      await world.owner.query('select from customer_order where id = $1 for update', [order.id]);
      const ended =
        kind === 'withdrawal'
          ? world.service.withdrawApproval(maker!, { approvalId: approvalId! })
          : world.service.decideApproval(carl!, { approvalId: approvalId!, decision: 'reject', version: 1 });
      await until(async () => {
        const { rowCount } = await world.owner.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return rowCount !== 0;
      });

      const { rowCount } = await world.owner.query('select from approval where id = $1 for update skip locked', [
        approvalId,
      ]);
      await world.owner.query('commit');

      expect(rowCount).toBe(1);
      await ended;
      expect((await world.reread(order)).status).toBe(kind === 'withdrawal' ? 'cancelled' : 'failed');
    },
  );

  it('is refused with the state of the moment when it runs', async () => {
    const poor = await world.account('50');
    const order = await place({ accountId: poor });
    await world.approve(bob!, order.approvalID!);
    await world.work();

    expect(await world.reread(order)).toMatchObject({ status: 'failed' });
    expect((await approvalOf(order)).outcome).toMatchObject({ status: 'refused', reason: 'insufficient_funds' });
  });

  it('is refused if its recipient was renamed, or its maker may not pay any more', async () => {
    const order = await place();
    await world.service.changeRecipient(world.ada, { recipientId: world.recipientID, alias: 'Another' });
    await world.approve(bob!, order.approvalID!);
    await world.work();
    expect((await approvalOf(order)).outcome).toMatchObject({ status: 'refused', reason: 'approval_changed' });

    const leaving = await world.person('member');
    const left = (await world.service.placeOrder(leaving, world.order())).resource;
    await world.owner.query(`delete from workspace_role where user_id = $1`, [leaving.actor]);
    await world.approve(bob!, left.approvalID!);
    await world.work();
    expect((await approvalOf(left)).outcome).toMatchObject({ status: 'refused', reason: 'role_insufficient' });
  });

  it('is refused if too few may approve it', async () => {
    await world.setRules({ ...EVERY_ORDER, approvals: 9 });
    await expect(place()).rejects.toMatchObject({ reason: 'approval_impossible' });
  });

  it('expires', async () => {
    const order = await place();
    await world.owner.query(`set session_replication_role = replica`);
    await world.owner.query(`update approval set expires_at = now() where id = $1`, [order.approvalID]);
    await world.owner.query(`set session_replication_role = origin`);
    await expect(world.approve(bob!, order.approvalID!)).rejects.toMatchObject({ reason: 'approval_expired' });
    await world.work();
    expect(await world.reread(order)).toMatchObject({
      status: 'failed',
      edges: { executions: [{ failureCode: 'approval_expired' }] },
    });
    expect((await approvalOf(order)).status).toBe('expired');
  });
});

describe('an order at a quote', () => {
  const quoted = async () => {
    const input = { accountID: world.accountId, recipientID: world.recipientID, amount: '100' };
    return (await world.service.createQuote(maker!, input)).resource.id;
  };

  it('uses the quote when it runs, and is refused if another order has used it', async () => {
    const [first, second] = [await quoted(), await quoted()];
    const [order, late] = [await place({ quoteID: first }), await place({ quoteID: second })];
    await world.setRules();
    await place({ quoteID: second });
    await world.approve(bob!, order.approvalID!);
    await world.approve(bob!, late.approvalID!);
    await world.work();

    expect(await world.reread(order)).toMatchObject({ status: 'completed', quoteID: first });
    expect((await approvalOf(late)).outcome).toMatchObject({ status: 'refused', reason: 'quote_used' });
  });
});

describe('a later order', () => {
  it('is scheduled when it is approved, and each run is paid', async () => {
    const order = await place({
      ...{ type: 'recurring', startAt: '2041-03-01T09:00:00Z', repeatUnit: 'daily', repeatValue: 1 },
    });
    await world.service.moveClock(world.ada, { now: '2041-03-01T10:00:00Z' });
    await world.work();
    expect(statesOf(await world.reread(order))).toEqual(['awaiting_approval']);
    await world.approve(bob!, order.approvalID!);
    expect((await approvalOf(order)).outcome).toMatchObject({ status: 'carried_out' });
    await world.work();
    await world.service.moveClock(world.ada, { now: '2041-03-02T10:00:00Z' });
    await world.work();
    expect(statesOf(await world.reread(order))).toEqual(['completed', 'completed', 'scheduled']);
    await world.service.cancelOrder(maker!, { accountId: world.accountId, orderId: order.id });
  });
});

describe('an order whose maker is removed', () => {
  /** A later order of a member who is removed then: before its approvals, or after them. */
  async function leftOrder(approvers: readonly Member[]): Promise<Order> {
    const leaving = await world.person('member');
    const later = { type: 'scheduled', startAt: '2099-03-01T09:00:00Z' } as const;
    const { resource: order } = await world.service.placeOrder(leaving, world.order(later));
    for (const by of approvers) await world.approve(by, order.approvalID!);
    const { items } = await world.service.listMembers(world.ada, { limit: 100 });
    const { id: memberId } = items.find(({ userID }) => userID === leaving.actor)!;
    await world.service.removeMember(world.ada, { memberId });
    return order;
  }
  const resume = (by: Member, { id: orderId }: Order) =>
    world.service.resumeOrder(by, { accountId: world.accountId, orderId });
  const takeOver = (by: Member, { id }: Order) => {
    const text = `update customer_order set paused_at = null, pause_reason = null, placed_by = $1 where id = $2`;
    return world.database.write({ workspaces: [world.workspaceId], user: by.actor }, [
      bind(sqlStatement('take_over', text), by.actor, id),
    ]);
  };
  const illegalStep = { code: RULE_VIOLATION.illegalStep };

  it('stays with the maker while it waits, so that no one takes it over and approves it alone', async () => {
    const taker = await world.person('admin', 'member', 'approver');
    const order = await leftOrder([]);
    await expect(resume(taker, order)).rejects.toMatchObject({ reason: 'approver_is_maker' });
    await expect(takeOver(taker, order)).rejects.toMatchObject(illegalStep);
    const byOperator = { workspaceId: world.workspaceId, orderId: order.id, placer: taker.email };
    await expect(resumePausedOrder(world.database, byOperator)).rejects.toThrow(/waits for approvals/);

    await world.approve(bob!, order.approvalID!);
    expect(await resume(taker, order)).toMatchObject({ placedBy: taker.actor });
    await world.service.cancelOrder(taker, { accountId: world.accountId, orderId: order.id });
  });

  it('is never resumed as that of a person who approved it', async () => {
    await world.setRules({ ...EVERY_ORDER, approvals: 2 });
    const taker = await world.person('admin', 'member', 'approver');
    const other = await world.person('admin', 'member');
    const order = await leftOrder([taker, bob!]);
    await expect(resume(taker, order)).rejects.toMatchObject({ reason: 'approver_is_maker' });
    await expect(takeOver(taker, order)).rejects.toMatchObject(illegalStep);

    expect(await resume(other, order)).toMatchObject({ placedBy: other.actor });
    await world.service.cancelOrder(other, { accountId: world.accountId, orderId: order.id });
  });
});

describe('the conditions of rules', () => {
  it('let orders pass that no rule applies to', async () => {
    const other = await world.account();
    await world.setRules(
      { ...EVERY_ORDER, amountAbove: [{ currencyCode: 'USD', amount: '500' }] },
      { ...EVERY_ORDER, accountID: other, approvals: 2 },
      { ...EVERY_ORDER, recipientNewerThanDays: 30, amountAbove: [{ currencyCode: 'USD', amount: '300' }] },
    );
    expect(await place({ amount: '300' as never })).toMatchObject({ status: 'completed' });
    for (const [more, requirements] of [
      [{ amount: '301' }, [1]],
      [{ amount: '501' }, [1, 1]],
      [{ accountId: other, amount: '501' }, [1, 2, 1]],
    ] as const) {
      const { requirements: given } = await approvalOf(await place(more as never));
      expect(given.map(({ approvals }) => approvals)).toEqual(requirements);
    }
  });
});

describe('the database', () => {
  /** A service whose rules are not asked. */
  const careless = () => {
    const service = world.open();
    const read = service.orders.readFacts.bind(service.orders);
    jest.spyOn(service.orders, 'readFacts').mockImplementation(async (payment) => ({
      ...(await read(payment)),
      approval_rules: null,
    }));
    return service;
  };

  it('refuses an order that was placed without asking the rules', async () => {
    await expect(careless().placeOrder(maker!, world.order())).rejects.toMatchObject({ reason: 'unavailable' });
  });

  it('refuses a payment of a workspace with rules that is of no order, or of one that is not approved', async () => {
    const order = await place();
    const bypass = (text: string) =>
      world.database.transaction({ workspaces: [world.workspaceId] }, async (tx) => {
        await tx.commit([bind(sqlStatement(text.slice(0, 30), text))]);
      });
    await expect(
      bypass(`update execution set status = 'scheduled' where order_id = ${order.id as OrderId}`),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    await expect(
      bypass(`update approval set status = 'approved', version = 2 where id = ${order.approvalID!}`),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
    await expect(
      bypass(
        `insert into approval_decision (workspace_id, approval_id, user_id, decision)
         values (${world.workspaceId}, ${order.approvalID!}, ${maker!.actor}, 'approve')`,
      ),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.notApproved });
  });
});
