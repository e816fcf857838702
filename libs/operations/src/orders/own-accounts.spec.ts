import {
  type AccountId,
  type CurrencyCode,
  fromBalanceAmount,
  inverse,
  type Rate,
  type RecipientId,
  Refusal,
  type TransferAmount,
  type WorkspaceId,
} from '@banking/domain';
import * as fc from 'fast-check';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '@banking/reference';
import type { RateSource } from '@banking/reference';
import { expectBooksInOrder } from '../testing/order-world.js';
import { reasonOf } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';

/** Currencies with 0, 2, 3 and 4 decimals. */
const CODES = ['JPY', 'USD', 'KWD', 'CLF', 'INR'] as const;
type Code = (typeof CODES)[number];
let { world, ada } = {} as OrderWorld;
let service: LedgerBankingService;
let exact: Rate | undefined;
const accounts = new Map<Code, { readonly id: AccountId; readonly recipient: RecipientId }>();

/** The rate of the run and its inverse, or the rate of the demo data if the run has none. */
const rates: RateSource = {
  rateOf: async (from, to) => {
    if (!exact) return DEMO_RATES.rateOf(from, to);
    return { ...(exact.from === from ? exact : inverse(exact)), source: 'spec', asOf: '2026-11-21T00:00:00Z' };
  },
};

beforeAll(async () => {
  ({ world, ada } = await orderWorld());
  service = new LedgerBankingService(world.database, world.books, { rates });
  for (const code of CODES) {
    const { rows } = await world.owner.query<{ id: bigint }>(
      `with sold as (select p.id from product p join currency c on c.id = p.currency_id where c.code = $1),
            made as (insert into product (id, name, currency_id)
                     select (select max(id) + 1 from product), $1, c.id from currency c
                     where c.code = $1 and not exists (select from sold) returning id)
       select id from sold union all select id from made`,
      [code],
    );
    const { resource } = await service.openAccount(ada, { productID: Number(rows[0]!.id) as never });
    await service.fundAccount(ada, { accountId: resource.id, amount: digits(10n ** 12n) });
    const named = await service.addInternalRecipient(ada, { accountCode: resource.code ?? '' });
    accounts.set(code, { id: resource.id, recipient: named.resource.id });
  }
});
afterAll(() => world.close());

const digits = (amount: bigint) => amount.toString() as TransferAmount;
const balanceOf = async (code: Code) => {
  const { edges } = await service.getAccount(ada, { accountId: accounts.get(code)!.id });
  return fromBalanceAmount(edges.balances[0]!.amount);
};
const pay = (from: Code, to: Code, amount: bigint) => {
  const [{ id: accountId }, { recipient: recipientID }] = [accounts.get(from)!, accounts.get(to)!];
  return service.placeOrder(ada, { accountId, recipientID, amount: digits(amount), type: 'instant' });
};
/** Pays a fixed target amount. */
const payFor = async (from: Code, to: Code, targetAmount: bigint) => {
  const [{ id: accountID }, { recipient: recipientID }] = [accounts.get(from)!, accounts.get(to)!];
  const { resource } = await service.createQuote(ada, { accountID, recipientID, targetAmount: digits(targetAmount) });
  const { id: quoteID, amount } = resource;
  return service.placeOrder(ada, { accountId: accountID, recipientID, amount, type: 'instant', quoteID });
};
/** Pays, or does nothing if the payment is refused. */
const unlessRefused = (payment: Promise<unknown>) =>
  payment.catch((refusal: unknown) => {
    if (!(refusal instanceof Refusal)) throw refusal;
  });
const tryToPay = (from: Code, to: Code, amount: bigint) => unlessRefused(pay(from, to, amount));

describe('own accounts in two currencies', () => {
  const pairs = fc.tuple(fc.constantFrom(...CODES), fc.constantFrom(...CODES)).filter(([one, other]) => one !== other);
  const parts = fc.oneof(fc.bigInt({ min: 1n, max: 1_000n }), fc.bigInt({ min: 10n ** 12n, max: 10n ** 12n + 1_000n }));
  const amounts = fc.oneof(fc.bigInt({ min: 1n, max: 500n }), fc.bigInt({ min: 1n, max: 10n ** 9n }));

  it('gain nothing from any number of payments there and back', async () => {
    await fc.assert(
      fc.asyncProperty(
        pairs,
        parts,
        parts,
        fc.array(fc.tuple(fc.boolean(), amounts), { minLength: 1, maxLength: 8 }),
        fc.nat({ max: 2 }),
        fc.boolean(),
        async ([here, there], numerator, denominator, payments, cuts, isAskedFor) => {
          exact = { from: here as CurrencyCode, to: there as CurrencyCode, numerator, denominator };
          const before = [await balanceOf(here), await balanceOf(there)] as const;

          await Promise.all(
            payments.map(([isTarget, amount]) => unlessRefused((isTarget ? payFor : pay)(here, there, amount))),
          );
          const paid = before[0] - (await balanceOf(here));
          if (isAskedFor && paid > 0n && (await unlessRefused(payFor(there, here, paid)))) {
            // All of it has returned, for at least the amount that had arrived.
            expect(await balanceOf(here)).toBe(before[0]);
            expect(await balanceOf(there)).toBeLessThanOrEqual(before[1]);
            return;
          }
          for (let cut = cuts; cut >= 0; cut -= 1) {
            const arrived = (await balanceOf(there)) - before[1];
            const part = cut === 0 ? arrived : arrived / 2n;
            if (part > 0n) await tryToPay(there, here, part);
          }

          expect(await balanceOf(there)).toBeGreaterThanOrEqual(before[1]);
          expect(await balanceOf(here)).toBeLessThanOrEqual(before[0]);
        },
      ),
      { numRuns: 60 },
    );
    const all = Object.values(world.demo.workspaces) as WorkspaceId[];
    await expectBooksInOrder(world.database, all);
    const { rows } = await world.owner.query(
      `select rounding, fixed_side, bool_and(remainder_numerator >= 0 and remainder_numerator < remainder_denominator) as rests,
              bool_or(remainder_numerator >= remainder_denominator) as has_units
       from conversion group by rounding, fixed_side order by fixed_side`,
    );
    expect(rows).toEqual([
      { rounding: 'down', fixed_side: 'source', rests: true, has_units: false },
      { rounding: 'down', fixed_side: 'target', rests: false, has_units: true },
    ]);
  });

  it('are refused twelve payments of 0.42 INR into dollars, which would arrive as nothing', async () => {
    exact = undefined;
    const before = [await balanceOf('INR'), await balanceOf('USD')];

    for (let times = 0; times < 12; times += 1) {
      expect(await reasonOf(pay('INR', 'USD', 42n))).toBe('amount_below_minimum');
    }

    expect([await balanceOf('INR'), await balanceOf('USD')]).toEqual(before);
  });

  it('lose the remainder to the fx account in twelve payments of 1.42 INR that return as one', async () => {
    exact = undefined;
    const before = [await balanceOf('INR'), await balanceOf('USD')] as const;
    const position = async () => {
      const { rows } = await world.owner.query<{ sum: string }>(
        `select sum(case direction when 'credit' then amount else -amount end)::text
         from leg t join account a on a.workspace_id = t.workspace_id and a.id = t.account_id join currency c on c.id = t.currency_id
         where a.kind = 'fx' and c.code = 'INR' and t.workspace_id = $1`,
        [ada.workspaceId],
      );
      return BigInt(rows[0]!.sum ?? 0);
    };
    const held = await position();

    for (let times = 0; times < 12; times += 1) await pay('INR', 'USD', 142n);
    expect(await balanceOf('USD')).toBe(before[1] + 12n);
    await pay('USD', 'INR', 12n);

    expect(await balanceOf('USD')).toBe(before[1]);
    expect(await balanceOf('INR')).toBe(before[0] - 12n * 142n + 996n);
    expect(await position()).toBe(held + 12n * 142n - 996n);
  });
});
