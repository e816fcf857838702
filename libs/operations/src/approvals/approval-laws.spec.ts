import fc from 'fast-check';
import {
  type ApprovalId,
  type ApprovalRule,
  type Order,
  parseTransferAmount,
  type TransferAmount,
} from '@banking/domain';
import { testOrProve } from '@banking/postgres/testing';
import { removeGrants } from '../provisioning/index.js';
import { approvalWorld } from '../testing/approval-world.js';
import type { Member } from '../testing/order-world.js';

/**
 * Random people, rules, orders, decisions, withdrawals and runs, from two services and in any order. What the books paid is compared with
 * what the rules asked for when each order was placed.
 */

type World = Awaited<ReturnType<typeof approvalWorld>>;

/** An order with what the model knows of it. */
interface Known {
  readonly order: Order;
  readonly maker: number;
  /** How many approvals the rules asked for. 0 if none. */
  readonly asked: number;
  /** Who approved it with the role, of others than the maker. */
  readonly approvers: Set<number>;
  isEnded: boolean;
}

interface Model {
  readonly world: World;
  readonly people: readonly Member[];
  readonly approvers: Set<number>;
  readonly orders: Known[];
  /** The largest amount that needs no approval, and how many approvals others need. Null without a rule. */
  rule: { readonly above: number; readonly approvals: number } | null;
}

/** A choice among those that there are, by a number. */
const chosen = <T>(all: readonly T[], by: number): T | undefined => all[by % Math.max(all.length, 1)];

type Step = readonly [kind: string, some: number, other: number];

const STEPS: Readonly<Record<string, (model: Model, some: number, other: number) => Promise<void>>> = {
  async setRule(model, some, other) {
    model.rule = other % 4 === 0 ? null : { above: (some % 3) * 100, approvals: 1 + (other % 2) };
    await model.world.setRules(...rulesOf(model.rule));
  },
  async place({ world, people, orders, rule }, some, other) {
    const maker = chosen(people, some)!;
    const amount = 1 + (other % 4) * 100;
    const asked = rule && amount > rule.above ? rule.approvals : 0;
    // Two services: one of them may know former rules.
    const service = other % 2 === 0 ? world.service : world.open();
    const placed = await refusedOr(
      service.placeOrder(maker, world.order({ amount: String(amount) as TransferAmount })),
    );
    if (placed === undefined) return;
    orders.push({ order: placed.resource, maker: maker.actor, asked, approvers: new Set(), isEnded: false });
  },
  async decide({ world, people, approvers, orders }, some, other) {
    const known = chosen(
      orders.filter(({ order }) => order.approvalID !== undefined),
      some,
    );
    if (!known) return;
    const by = chosen(people, other)!;
    const approvalId = known.order.approvalID as ApprovalId;
    const { version } = await world.service.getApproval(by, { approvalId });
    const decision = other % 7 === 0 ? 'reject' : 'approve';
    const decided = await refusedOr(world.service.decideApproval(by, { approvalId, decision, version }));
    if (known.approvers.has(by.actor)) return;
    const isAllowed = by.actor !== known.maker && approvers.has(by.actor);
    if (!isAllowed) expect(decided).toBeUndefined();
    else if (decided && decision === 'approve') known.approvers.add(by.actor);
  },
  async decideAtOnce({ world, people, approvers, orders }, some) {
    const known = chosen(
      orders.filter(({ order }) => order.approvalID !== undefined),
      some,
    );
    if (!known) return;
    const approvalId = known.order.approvalID as ApprovalId;
    const { version } = await world.service.getApproval(people[0]!, { approvalId });
    const decided = await Promise.all(
      people.map(async (by) => {
        const input = { approvalId, decision: 'approve', version } as const;
        return (await refusedOr(world.service.decideApproval(by, input))) && by.actor;
      }),
    );
    for (const by of decided) {
      // A repeated decision is answered as done, whatever roles are left.
      if (by === undefined || known.approvers.has(by)) continue;
      expect([by !== known.maker, approvers.has(by)]).toEqual([true, true]);
      known.approvers.add(by);
    }
  },
  async end({ world, orders }, some, other) {
    const known = chosen(orders, some);
    if (!known) return;
    const approvalId = known.order.approvalID as ApprovalId | undefined;
    const by = { workspaceId: world.workspaceId, actor: known.maker } as Member;
    if (other % 3 === 0 && approvalId) await refusedOr(world.service.withdrawApproval(by, { approvalId }));
    else if (other % 3 === 1 && approvalId) await expire(world, approvalId);
    else {
      const name = { accountId: world.accountId, orderId: known.order.id };
      await refusedOr(world.service.cancelOrder(by, name));
    }
  },
  async changeRole({ world, people, approvers }, some, other) {
    const { actor } = chosen(people, some)!;
    const email = (chosen(people, some) as Member & { readonly email: string }).email;
    if (approvers.has(actor)) {
      await removeGrants(world.provisioning, 'ops', { workspaceId: world.workspaceId, email, roles: ['approver'] });
      approvers.delete(actor);
    } else if (other % 2 === 0) {
      await world.grant(email, 'approver');
      approvers.add(actor);
    }
  },
  async work({ world }) {
    await world.work();
  },
  /** A worker that dies before it records what it did: its claim ends, and another one does the work again. */
  async workAgain({ world }) {
    await Promise.all([world.work(), world.work()]);
    await world.owner.query('update work set leased_until = null where leased_until is not null');
    await world.work();
  },
};

const rulesOf = (rule: Model['rule']): ApprovalRule[] =>
  rule === null
    ? []
    : [
        {
          ...{ operations: 'orders', approvals: rule.approvals, roles: ['approver'] },
          amountAbove: [{ currencyCode: 'USD', amount: String(rule.above) }],
        },
      ];

async function expire({ owner }: World, approvalId: ApprovalId): Promise<void> {
  await owner.query(`set session_replication_role = replica`);
  await owner.query(`update approval set expires_at = now() where id = $1 and status = 'required'`, [approvalId]);
  await owner.query(`set session_replication_role = origin`);
}

/** What a call returns, or undefined if it was refused. Any other error fails the law. */
async function refusedOr<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if ((error as Error).name !== 'Refusal') throw error;
    return undefined;
  }
}

const numbers = fc.nat({ max: 1_000 });
const steps = fc.array(fc.tuple(fc.constantFrom(...Object.keys(STEPS)), numbers, numbers), {
  minLength: 10,
  maxLength: 30,
}) as fc.Arbitrary<readonly Step[]>;

/** One rule, an order that needs an approval, and its payment. */
const PAID: readonly Step[] = [
  ['setRule', 0, 2],
  ['place', 0, 2],
  ['decideAtOnce', 0, 0],
  ['work', 0, 0],
];

/** The orders that were paid without the approvals that the rules asked for, twice, or otherwise than they say. */
async function violations({ world, orders }: Model): Promise<readonly string[]> {
  const { rows } = await world.owner.query<{ order_id: bigint; transactions: number; paid: string }>(
    `select e.order_id, count(distinct e.transaction_id)::int as transactions, sum(t.amount)::text as paid
     from execution e join transfer t on t.workspace_id = e.workspace_id and t.transaction_id = e.transaction_id
     where t.direction = 'debit' and e.order_id = any($1) group by e.order_id`,
    [orders.map(({ order }) => order.id)],
  );
  const paid = new Map(rows.map((row) => [Number(row.order_id), row]));
  return orders.flatMap(({ order, asked, approvers, maker }) => {
    const row = paid.get(order.id);
    if (!row) return [];
    const others = [...approvers].filter((by) => by !== maker);
    return [
      ...(others.length < asked ? [`order ${order.id} was paid with ${others.length} of ${asked} approvals`] : []),
      ...(row.transactions > 1 ? [`order ${order.id} was paid twice`] : []),
      ...(row.paid !== order.amount ? [`order ${order.id} paid another amount`] : []),
    ];
  });
}

async function play(world: World, people: readonly Member[], story: readonly Step[]): Promise<Model> {
  const approvers = new Set<number>();
  for (const [index, { actor }] of people.entries()) {
    const email = (people[index] as Member & { readonly email: string }).email;
    if (index < 4) {
      await world.grant(email, 'approver');
      approvers.add(actor);
    } else {
      await removeGrants(world.provisioning, 'ops', {
        ...{ workspaceId: world.workspaceId, email, roles: ['approver'] },
      }).catch(() => undefined);
    }
  }
  const model: Model = { world, people, approvers, orders: [], rule: { above: 0, approvals: 2 } };
  await world.setRules(...rulesOf(model.rule));
  for (const [kind, some, other] of story) await STEPS[kind]!(model, some, other);
  await world.work();
  return model;
}

describe('payments of a workspace with approval rules', () => {
  let world: World;
  let people: readonly Member[];
  beforeAll(async () => {
    world = await approvalWorld();
    people = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((_, index) =>
        index < 4 ? world.person('member', 'approver') : world.person('member'),
      ),
    );
  });
  afterAll(() => world.close());

  it('have the approvals that the rules asked for, each of another person than the maker, and happen once', async () => {
    let paidWithApprovals = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (story) => {
        const model = await play(world, people, story);
        expect(await violations(model)).toEqual([]);
        for (const { order, asked } of model.orders) {
          const read = await world.reread(order);
          // An order that was asked for approvals is not placed without.
          expect([order.id, order.approvalID !== undefined]).toEqual([order.id, asked > 0]);
          if (asked > 0 && read.status === 'completed') paidWithApprovals += 1;
        }
      }),
      { numRuns: testOrProve(8, 400), examples: [[PAID]] },
    );
    expect(paidWithApprovals).toBeGreaterThan(0);
    await world.expectInOrder();
  }, 240_000);

  describe.each<[string, string, string]>([
    [
      'the guard of placed orders',
      'check_placed_orders',
      'create or replace function check_placed_orders(orders placed_order[]) returns void language sql as $$ select $$',
    ],
  ])('with a gap: %s is off', (_, name, gap) => {
    it('are found by the law if the service does not ask the rules either', async () => {
      const { rows } = await world.owner.query<{ text: string }>(
        `select pg_get_functiondef(p.oid) as text from pg_proc p where p.proname = $1`,
        [name],
      );
      await world.owner.query(gap);
      const careless = world.open();
      const read = careless.orders.readFacts.bind(careless.orders);
      jest.spyOn(careless.orders, 'readFacts').mockImplementation(async (payment) => ({
        ...(await read(payment)),
        approval_rules: null,
      }));
      await world.setRules(...rulesOf({ above: 0, approvals: 1 }));
      const { resource: order } = await careless.placeOrder(people[0]!, world.order());
      const known = { order, maker: people[0]!.actor, asked: 1, approvers: new Set<number>(), isEnded: false };
      const model: Model = { world, people, approvers: new Set(), orders: [known], rule: null };
      expect(await violations(model)).toEqual([`order ${order.id} was paid with 0 of 1 approvals`]);
      await world.owner.query(rows[0]!.text);
      await expect(careless.placeOrder(people[0]!, world.order())).rejects.toMatchObject({ reason: 'unavailable' });
    });
  });

  it('are refused at commit if they are of no order, or of one without its approvals', async () => {
    await world.setRules(...rulesOf({ above: 0, approvals: 1 }));
    const { resource: order } = await world.service.placeOrder(people[0]!, world.order());
    const approvalId = order.approvalID as ApprovalId;
    // The approval is forged by the owner, around the triggers that prove its steps.
    await world.owner.query(`set session_replication_role = replica`);
    await world.owner.query(`update approval set status = 'approved', version = 2 where id = $1`, [approvalId]);
    await world.owner.query(`update execution set status = 'scheduled' where order_id = $1`, [order.id]);
    await world.owner.query(
      `insert into work (workspace_id, kind, subject_id)
       select workspace_id, 'execution', id from execution where order_id = $1`,
      [order.id],
    );
    await world.owner.query(`set session_replication_role = origin`);
    const before = await world.balanceOf();
    await world.work();
    expect(await world.reread(order)).toMatchObject({
      status: 'failed',
      edges: { executions: [{ failureCode: 'approval_changed' }] },
    });
    expect(await world.balanceOf()).toBe(before);

    // And with the trigger off it is paid, which the verification of the books finds.
    const { resource: other } = await world.service.placeOrder(people[0]!, world.order());
    await world.owner.query(`alter table unverified_posting disable trigger payment_guard`);
    await world.owner.query(`set session_replication_role = replica`);
    await world.owner.query(`update approval set status = 'approved', version = 2 where order_id = $1`, [other.id]);
    await world.owner.query(`update execution set status = 'scheduled' where order_id = $1`, [other.id]);
    await world.owner.query(
      `insert into work (workspace_id, kind, subject_id)
       select workspace_id, 'execution', id from execution where order_id = $1`,
      [other.id],
    );
    await world.owner.query(`set session_replication_role = origin`);
    await world.work();
    await world.owner.query(`alter table unverified_posting enable trigger payment_guard`);
    expect(await world.balanceOf()).toBe(before - parseTransferAmount(other.amount));
    const findings = await world.findings();
    expect(findings.map(({ check }) => check)).toContain('every payment has the approvals that its order waited for');
  });
});
