import { testOrProve } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { type Account, type RecipientId, Refusal } from '@banking/domain';
import type { LedgerBankingService } from '../ledger-banking-service.js';
import { amountOf, crossingWorld, type CrossingWorld } from '../testing/crossing-world.js';
import { CROSSING, type CrossingPort } from './crossings.js';

const RUNS = testOrProve(12, 100);
/** Balances are at most this, so that they are exact as JSON integers. */
const BALANCE_MAX = BigInt(Number.MAX_SAFE_INTEGER);
const DRAIN_MAX = 20;
let at: CrossingWorld;
let payers: Account[];
let payees: Account[];
let recipients: RecipientId[];
let total: Readonly<Record<string, bigint>>;

beforeAll(async () => {
  at = await crossingWorld();
  payers = [await at.payer(1_000_000n), await at.payer(1_000_000n)];
  payees = [await at.payee(), await at.payee(), await at.payee()];
  recipients = [];
  for (const payee of payees) recipients.push(await at.recipientFor(payee));
  // The last one takes a little more only.
  const almostFull = amountOf(BALANCE_MAX - 300n);
  await at.paid.fundAccount(at.scope, { accountId: payees[2]!.id, amount: almostFull });
  total = await at.money();
});
afterAll(() => at.close());

/** What happens at a call of the other database. */
const call = fc.constantFrom(
  'answered',
  'failed before',
  'lost after',
  'doubled',
  'overtaken before',
  'overtaken after',
);
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

const index = (length: number) => fc.integer({ min: 0, max: length - 1 });
const action = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('pay'),
      payer: index(2),
      payee: index(3),
      amount: fc.integer({ min: 1, max: 400 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('work'), calls: fc.array(call, { minLength: 1, maxLength: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('work twice'), calls: fc.array(call, { maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('switch payee'), payee: index(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('switch payer'), payer: index(2) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'pass time' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'queue again' } as const) },
);

/** A port whose calls take the course of a list, then succeed. Another worker overtakes with calls that succeed. */
function portWith(calls: readonly Call[]): CrossingPort {
  const left = [...calls];
  const overtake = async () => {
    await at.passTime();
    await at.worker().step();
  };
  return {
    async arrive(crossing) {
      const course = left.shift() ?? 'answered';
      if (course === 'failed before') throw new Refusal('unavailable');
      if (course === 'overtaken before') await overtake();
      if (course === 'doubled') {
        const [one, other] = await Promise.all([at.port.arrive(crossing), at.port.arrive(crossing)]);
        expect(one).toBe(other);
        return one;
      }
      const outcome = await at.port.arrive(crossing);
      if (course === 'lost after') throw new Refusal('outcome_unknown');
      if (course === 'overtaken after') await overtake();
      return outcome;
    },
  };
}

const step = (calls: readonly Call[]) => at.worker(portWith(calls)).step();

async function switchStatus(service: LedgerBankingService, { id }: Account): Promise<void> {
  const { status } = await service.getAccount(at.scope, { accountId: id });
  const change = { accountId: id, status: status === 'enabled' ? 'disabled' : 'enabled' } as const;
  await service.changeAccount(at.scope, change);
}

type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

async function take(next: Action): Promise<void> {
  if ('amount' in next) {
    const payment = at.order(payers[next.payer]!.id, recipients[next.payee]!, { amount: amountOf(next.amount) });
    await payment.catch((error: unknown) => expect(error).toMatchObject({ reason: 'account_disabled' }));
  } else if ('calls' in next) {
    await Promise.all(next.kind === 'work' ? [step(next.calls)] : [step(next.calls), step(next.calls)]);
  } else if ('payee' in next) {
    await switchStatus(at.paid, payees[next.payee]!);
  } else if ('payer' in next) {
    await switchStatus(at.paying, payers[next.payer]!);
  } else if (next.kind === 'pass time') {
    await at.passTime();
  } else {
    // As after a crash between the record of the outcome and the end of the work.
    await at.payers.world.owner.query(
      `insert into work (workspace_id, kind, subject_id) select workspace_id, '${CROSSING}', transaction_id from crossing on conflict do nothing`,
    );
  }
}

/** Does all work, as after the last fault. */
async function drain(): Promise<void> {
  for (let turn = 0; turn < DRAIN_MAX && (await at.work()).length > 0; turn += 1) {
    await at.passTime();
    await at.worker().step();
  }
  expect(await at.work()).toEqual([]);
}

describe('payments between two databases under faults', () => {
  it('arrive once or come back, and no money is lost or made', async () => {
    const ends = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 16 }), async (actions) => {
        for (const next of actions) await take(next);
        await drain();

        for (const { status, transaction, returns, arrivals } of await at.crossings()) {
          ends.add(status);
          const end = status === 'completed' ? ['completed', 0, ['accepted']] : ['failed', 1, ['refused']];
          expect([transaction, returns, arrivals]).toEqual(end);
        }
        expect(await at.money()).toEqual(total);
        const [credited, debited] = [await at.interworkspace(at.payers), await at.interworkspace(at.payees)];
        for (const [currency, sum] of Object.entries(credited))
          expect([currency, -(debited[currency] ?? 0n)]).toEqual([currency, sum]);
        const unexpected = at.errors.filter((error) => !(error instanceof Refusal));
        expect(unexpected).toEqual([]);
      }),
      { numRuns: RUNS },
    );
    expect([...ends].sort()).toEqual(['completed', 'returned']);
  }, 300_000);
});
