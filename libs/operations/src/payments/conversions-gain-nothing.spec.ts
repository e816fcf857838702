import {
  convert,
  type CurrencyCode,
  decimalsOf,
  inverse,
  minorUnits,
  Refusal,
  type MinorUnits,
  type Rate,
  rateOf,
} from '@banking/domain';
import { CORRIDORS, feeScheduleOf } from '@banking/reference';
import * as fc from 'fast-check';
import type { RateSource } from '@banking/rates';
import { reasonOf } from '@banking/postgres/testing';
import type { FixedAmount } from './payment-facts.js';
import { type Price, pricePayment } from './price-payment.js';

/** Currencies with 0, 2, 3 and 4 decimals. */
const codes = fc.constantFrom<CurrencyCode>('JPY', 'USD', 'KWD', 'CLF', 'INR');
const pairs = fc.tuple(codes, codes).filter(([one, other]) => one !== other);
const parts = fc.bigInt({ min: 1n, max: 10n ** 18n });
const small = fc.bigInt({ min: 1n, max: 1_000n });
const fractions: fc.Arbitrary<readonly [bigint, bigint]> = fc.oneof(
  fc.tuple(small, small),
  fc.tuple(parts, parts),
  fc.tuple(parts, fc.bigInt({ min: 1n, max: 100n })).map(([part, off]) => [part + off, part] as const),
  fc.tuple(parts, small),
  fc.tuple(small, parts),
);
const amounts = fc.oneof(fc.bigInt({ min: 1n, max: 100n }), fc.bigInt({ min: 1n, max: 10n ** 18n })).map(minorUnits);
const spreads = fc.bigInt({ min: 0n, max: 9_999n });

/** A source with one exact rate and its inverse, each less the spread. */
function constantly(
  [there, back]: readonly [CurrencyCode, CurrencyCode],
  [numerator, denominator]: readonly [bigint, bigint],
  spread = 0n,
): RateSource {
  const rate: Rate = { from: there, to: back, numerator, denominator };
  return {
    rateOf: async (from) => {
      const exact = from === there ? rate : inverse(rate);
      const less = { numerator: exact.numerator * (10_000n - spread), denominator: exact.denominator * 10_000n };
      return { ...exact, ...less, source: 'spec', asOf: '2026-11-21T00:00:00Z' };
    },
  };
}
const EXPECTED = new Set(['amount_below_minimum', 'amount_out_of_range', 'rate_unavailable']);

const leaving = (value: MinorUnits): FixedAmount => ({ side: 'source', value, field: 'amount' });
const arriving = (value: MinorUnits): FixedAmount => ({ side: 'target', value, field: 'targetAmount' });

/** The price of a payment, or undefined if it is refused. */
async function priced(
  from: CurrencyCode,
  to: CurrencyCode,
  fixed: FixedAmount,
  rates: RateSource,
): Promise<Price | undefined> {
  try {
    return await pricePayment({ from, to }, fixed, rates);
  } catch (refusal) {
    if (!EXPECTED.has((refusal as { reason: string }).reason)) throw refusal;
    return undefined;
  }
}

/** The target amount of a payment. */
const paid = async (from: CurrencyCode, to: CurrencyCode, amount: MinorUnits, rates: RateSource) =>
  (await priced(from, to, leaving(amount), rates))?.targetAmount;

describe('payments between own accounts of two currencies, at a rate that does not change', () => {
  it('return no more than was paid, in any number and order', async () => {
    const steps = fc.array(fc.tuple(fc.boolean(), fc.boolean(), amounts), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(pairs, fractions, spreads, amounts, steps, async (pair, fraction, spread, start, payments) => {
        const rates = constantly(pair, fraction, spread);
        const holds: [bigint, bigint] = [start, 0n];
        const pay = async (from: 0 | 1, fixed: FixedAmount) => {
          const to = from === 0 ? 1 : 0;
          const price = fixed.value === 0n ? undefined : await priced(pair[from], pair[to], fixed, rates);
          if (!price || price.amount > holds[from]) return;
          holds[from] -= price.amount;
          holds[to] += price.targetAmount;
        };

        for (const [isThere, isTarget, amount] of payments) {
          const from = isThere ? 0 : 1;
          const held = (amount < holds[from] ? amount : holds[from]) as MinorUnits;
          await pay(from, isTarget ? arriving(amount) : leaving(held));
        }
        await pay(1, leaving(holds[1] as MinorUnits));

        expect(holds[0]).toBeLessThanOrEqual(start);
      }),
      { numRuns: 2_000 },
    );
  });

  it('would gain with rounding to the nearest: twelve of 0.42 INR, and one back', async () => {
    const rates = constantly(['USD', 'INR'], [83n, 1n]);

    const [there, back] = [rateOf('INR', 'USD', '0.012048192771'), rateOf('USD', 'INR', '83')];
    const cents = convert(minorUnits(42n), there, 'half-even').amount * 12n;
    expect(convert(minorUnits(cents), back, 'half-even').amount).toBe(996n);

    expect(await reasonOf(pricePayment({ from: 'INR', to: 'USD' }, leaving(minorUnits(42n)), rates))).toBe(
      'amount_below_minimum',
    );
    expect(await paid('INR', 'USD', minorUnits(83n), rates)).toBe(undefined);
    expect(await paid('INR', 'USD', minorUnits(84n), rates)).toBe(1n);
    expect(await paid('USD', 'INR', minorUnits(12n), rates)).toBe(996n);
  });
});

describe('a fee', () => {
  const charging = CORRIDORS.filter(({ id }) => feeScheduleOf(id)).map(({ id }) => id);

  it('is never below its schedule for the exact amount, at the rate of the payment', async () => {
    await fc.assert(
      fc.asyncProperty(codes, fc.constantFrom(...charging), fractions, amounts, async (from, id, fraction, amount) => {
        const { currency, fixed, partsPerMillion, minimum, maximum } = feeScheduleOf(id)!;
        if (currency === from) return;
        const corridor = {
          id,
          enabled: true,
          payoutMethod: 'LOCAL',
          limitCurrency: from,
          minimum: minorUnits(0n),
          maximum: minorUnits(10n ** 18n),
        } as const;
        const price = await pricePayment(
          { from, to: currency, recipient: { corridor } },
          leaving(amount),
          constantly([from, currency], fraction),
        ).catch((error: unknown) => {
          if (error instanceof Refusal) return undefined;
          throw error;
        });
        if (!price) return;

        const WHOLE = 1_000_000n;
        const rate = rateOf(from, currency, price.rateText);
        // Millionths of a unit of the schedule, times `unit`.
        const unit = rate.denominator * 10n ** BigInt(decimalsOf(from));
        const worth = rate.numerator * 10n ** BigInt(decimalsOf(currency));
        const share = fixed * WHOLE * unit + amount * worth * partsPerMillion;
        const least = share < minimum * WHOLE * unit ? minimum * WHOLE * unit : share;
        const exact = maximum !== undefined && least > maximum * WHOLE * unit ? maximum * WHOLE * unit : least;
        expect(price.fee! * worth * WHOLE).toBeGreaterThanOrEqual(exact);
      }),
      { numRuns: 1_000 },
    );
  });
});
