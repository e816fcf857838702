import * as fc from 'fast-check';
import type { AccountId, PlaceOrderInput, RecipientId, TransferAmount, UserId, WorkspaceId } from '@banking/domain';
import {
  type Discrepancy,
  type RailEvent,
  recordEvent,
  type Resolution,
  resolveDiscrepancy,
  SANDBOX_ROUTING,
} from '@banking/payouts';
import { testOrProve } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { ADA, expectBooksInOrder } from '../testing/order-world.js';
import { demoDatabase } from '../testing/test-databases.js';

/**
 * Any events of a payout and resolutions of operators, in any order. After each, the payout is compared with what the rules say of it, and
 * at the end everything is verified.
 */

type Kind = Discrepancy['kind'];

const isArrival = (status: string) => ['ACSC', 'ACCC'].includes(status);

/** An event, or the resolution of one of the open discrepancies. */
type Step = RailEvent | { readonly resolution: Resolution; readonly nth: number };

/** What the rules say of a payout. */
class Model {
  status: 'pending' | 'completed' | 'failed' = 'pending';
  /** Whether the money is with the network, and not back on the account. */
  isOut = true;
  readonly open = new Set<Kind>();
  private hasMovedSince = false;
  private isReturnedByBank = false;
  private readonly recorded: RailEvent[] = [];

  record(event: RailEvent): void {
    const namesakes = this.recorded.filter(({ providerEvent }) => providerEvent === event.providerEvent);
    if (namesakes.some(({ status }) => status === event.status)) return;
    this.recorded.push(event);
    this.isReturnedByBank ||= event.isReturn === true;
    if (namesakes.length > 0) this.open.add('event_reused');
    this.move(event);
    // The bank has the money again, as the customer does.
    if (this.isReturnedByBank) this.open.delete('rejected_then_credited');
  }

  private move({ status, isReturn }: RailEvent): void {
    if (this.status === 'pending') {
      if (isArrival(status)) this.status = 'completed';
      if (status === 'RJCT') [this.status, this.isOut] = ['failed', false];
    } else if (isReturn && this.status === 'completed' && !this.hasMovedSince) {
      [this.isOut, this.hasMovedSince] = [false, true];
    } else {
      if (status === 'RJCT' && this.isOut) this.open.add('credited_then_rejected');
      if (isArrival(status) && !this.isOut) this.open.add('rejected_then_credited');
    }
  }

  resolve(kind: Kind, resolution: Resolution): void {
    if (!this.allows(kind, resolution)) return;
    this.open.delete(kind);
    if (resolution === 'dismissed') return;
    [this.isOut, this.hasMovedSince] = [resolution === 'reclaimed', true];
  }

  private allows(kind: Kind, resolution: Resolution): boolean {
    if (resolution === 'dismissed') return true;
    if (this.status === 'pending') return false;
    if (resolution === 'returned') return this.isOut && kind !== 'rejected_then_credited';
    return !this.isOut && !this.isReturnedByBank && kind !== 'credited_then_rejected';
  }
}

let world: Awaited<ReturnType<typeof demoDatabase>>;
let service: LedgerBankingService;
let ada: { readonly workspaceId: WorkspaceId; readonly actor: UserId };
let accountId: AccountId;

beforeAll(async () => {
  world = await demoDatabase();
  service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING }, true);
  ada = {
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
    actor: world.demo.users[ADA] as UserId,
  };
  accountId = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  await service.fundAccount(ada, { accountId, amount: '100000000' as TransferAmount });
});
afterAll(() => world.close());

/** A pending payout that no worker has begun. */
async function pay(): Promise<number> {
  const recipientID = world.demo.recipients['international'] as RecipientId;
  const input: PlaceOrderInput = {
    ...{ accountId, recipientID, amount: '250000' as TransferAmount, type: 'instant', purposeCode: 'IR001' },
  };
  const { resource } = await service.placeOrder(ada, input);
  return resource.edges.executions![0]!.edges.transaction!.id;
}

interface OpenDiscrepancy {
  readonly id: number;
  readonly kind: Kind;
}

/** The state of a payout. Its money has left the account, or is on it: nothing else is possible. */
async function stateOf(transactionId: number) {
  const { rows } = await world.owner.query<{ status: string; left: string; paid: string; open: OpenDiscrepancy[] }>(
    `with recursive link (id) as (
       select $1::bigint union all select r.id from link l join transaction r on r.return_of = l.id),
     moved as (
       select t.transaction_id as id, sum(case t.direction when 'debit' then t.amount else -t.amount end) as amount
       from link l join transfer t on t.transaction_id = l.id where t.type <> 'fee' group by 1)
     select x.status, (select sum(amount) from moved)::text as left, (select amount from moved where id = $1)::text as paid, (
       select coalesce(json_agg(json_build_object('id', d.id, 'kind', d.kind) order by d.kind), '[]') from discrepancy d
       where d.transaction_id = $1 and d.resolved_at is null) as open
     from transaction x where x.id = $1`,
    [transactionId],
  );
  const { left, paid, ...state } = rows[0]!;
  expect(['0', paid]).toContain(left);
  return { ...state, isOut: left === paid };
}

async function take(model: Model, transactionId: number, step: Step): Promise<void> {
  if ('status' in step) {
    await recordEvent(world.books, ada.workspaceId, transactionId, step);
    model.record(step);
    return;
  }
  const { open } = await stateOf(transactionId);
  const chosen = open[step.nth % Math.max(open.length, 1)];
  if (!chosen) return;
  const { resolution } = step;
  await resolveDiscrepancy(world.books, {
    ...{ workspaceId: ada.workspaceId, discrepancyId: chosen.id, resolution, note: 'asked the bank' },
  });
  model.resolve(chosen.kind, resolution);
}

const SAID: readonly Omit<RailEvent, 'providerEvent'>[] = [
  { status: 'ACSP' },
  { status: 'ACSC' },
  { status: 'ACCC' },
  { status: 'RJCT' },
  { status: 'RJCT', isReturn: true },
];
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...SAID), fc.constantFrom('a', 'b', 'c', 'd'))
      .map(([said, providerEvent]) => ({ ...said, providerEvent })),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      resolution: fc.constantFrom<Resolution>('returned', 'reclaimed', 'dismissed'),
      nth: fc.nat(2),
    }),
  },
);

/** What a bank may say of a payment in the end, in every order and with repetitions: under an id for each event, and all under one id. */
const ENDS = [SAID[1]!, SAID[3]!, SAID[4]!];
const ORDERS = ENDS.flatMap((first) => ENDS.flatMap((second) => ENDS.map((third) => [first, second, third])));
const EXAMPLES: readonly Step[][] = ['a', 'abc'].flatMap((ids) =>
  ORDERS.map((said) => said.map((one, at) => ({ ...one, providerEvent: ids[at % ids.length]! }))),
);

describe('any events of a payout and resolutions', () => {
  it('are recorded, with the money in one place, each contradiction open, and nothing to find', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
        const transactionId = await pay();
        const model = new Model();
        for (const one of steps) {
          await take(model, transactionId, one);
          const { open, ...state } = await stateOf(transactionId);
          expect(state).toEqual({ status: model.status, isOut: model.isOut });
          expect(open.map(({ kind }) => kind)).toEqual([...model.open].sort());
        }
      }),
      { numRuns: EXAMPLES.length + testOrProve(15, 150), examples: EXAMPLES.map((steps): [Step[]] => [steps]) },
    );
    await expectBooksInOrder(world.database, Object.values(world.demo.workspaces));
  });
});
