import {
  convert,
  type CurrencyCode,
  decimalsOf,
  inverse,
  MINOR_UNITS_MAX,
  minorUnits,
  type MinorUnits,
  type Rate,
  rateOf,
  Refusal,
} from '@banking/domain';
import * as fc from 'fast-check';
import { DEMO_RATES } from '@banking/rates';
import { NO_RATES, type RateSource } from '@banking/rates';
import { reasonOf } from '@banking/postgres/testing';
import type { FixedAmount, PaidCorridor, PaymentParties } from './payment-facts.js';
import { type Price, pricePayment } from './price-payment.js';

/** Currencies with 0, 2, 3 and 4 decimals. */
const codes = fc.constantFrom<CurrencyCode>('JPY', 'USD', 'KWD', 'CLF', 'INR');
const parts = fc.oneof(fc.bigInt({ min: 1n, max: 1_000n }), fc.bigInt({ min: 1n, max: 10n ** 18n }));
const amounts = fc.oneof(fc.bigInt({ min: 1n, max: 100n }), fc.bigInt({ min: 1n, max: 10n ** 18n })).map(minorUnits);

const leaving = (value: MinorUnits): FixedAmount => ({ side: 'source', value, field: 'amount' });
const arriving = (value: MinorUnits): FixedAmount => ({ side: 'target', value, field: 'targetAmount' });
/** A source with one exact rate and its inverse, for any pair. */
const at = (from: CurrencyCode, numerator: bigint, denominator: bigint): RateSource => ({
  rateOf: async (asked, to) => {
    const rate: Rate = { from: asked, to, numerator, denominator };
    return {
      ...(asked === from ? rate : inverse({ ...rate, from: to, to: asked })),
      source: 'spec',
      asOf: '2026-11-21T00:00:00Z',
    };
  },
});

async function priceOf(parties: PaymentParties, fixed: FixedAmount, rates: RateSource): Promise<Price | undefined> {
  try {
    return await pricePayment(parties, fixed, rates);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** Checks a property for all amounts, rates and decimals. */
const holds = (
  law: (
    price: Price,
    again: { readonly from: CurrencyCode; readonly to: CurrencyCode; readonly rate: Rate; readonly rates: RateSource },
  ) => Promise<void> | void,
) =>
  fc.assert(
    fc.asyncProperty(codes, codes, parts, parts, amounts, async (from, to, numerator, denominator, target) => {
      const rates = at(from, numerator, denominator);
      const price = await priceOf({ from, to }, arriving(target), rates);
      if (!price) return;
      expect(price.targetAmount).toBe(target);
      await law(price, { from, to, rate: rateOf(from, to, price.rateText), rates });
    }),
    { numRuns: 2_000 },
  );

describe('the price of a payment with a fixed target amount', () => {
  it('debits the smallest sufficient amount, because one minor unit less is not enough', () =>
    holds(({ amount, targetAmount, remainder }, { rate }) => {
      // In units of which both amounts are multiples.
      const worth = rate.numerator * 10n ** BigInt(decimalsOf(rate.to));
      const needed = targetAmount * rate.denominator * 10n ** BigInt(decimalsOf(rate.from));
      expect(amount * worth).toBeGreaterThanOrEqual(needed);
      expect((amount - 1n) * worth).toBeLessThan(needed);
      expect(amount * worth - needed).toBe(remainder.numerator);
    }));

  it('pays out no more than a payment by its whole amount', () =>
    holds(async ({ amount, targetAmount }, { from, to, rates }) => {
      const all = await priceOf({ from, to }, leaving(amount), rates);
      if (all) expect(targetAmount).toBeLessThanOrEqual(all.targetAmount);
    }));

  it('has a remainder below the value of one debited minor unit, and none within a currency', () =>
    holds(({ remainder, amount, targetAmount }, { from, to, rate }) => {
      expect(remainder.numerator).toBeGreaterThanOrEqual(0n);
      expect(remainder.denominator).toBe(rate.denominator * 10n ** BigInt(decimalsOf(from)));
      expect(remainder.numerator).toBeLessThan(rate.numerator * 10n ** BigInt(decimalsOf(to)));
      if (from === to) expect([amount, remainder.numerator]).toEqual([targetAmount, 0n]);
    }));

  it('can be recomputed from the shown rate', () =>
    holds(({ amount, targetAmount }, { rate }) => {
      expect(convert(targetAmount, inverse(rate), 'up').amount).toBe(amount);
    }));

  it('gains nothing by a payment back, with either amount of it fixed', () =>
    holds(async ({ amount, targetAmount }, { from, to, rates }) => {
      const back = await priceOf({ from: to, to: from }, leaving(targetAmount), rates);
      if (back) expect(back.targetAmount).toBeLessThanOrEqual(amount);
      const asked = await priceOf({ from: to, to: from }, arriving(amount), rates);
      if (asked) expect(asked.amount).toBeGreaterThanOrEqual(targetAmount);
    }));

  it('has the fee of a payment by its amount', () =>
    fc.assert(
      fc.asyncProperty(codes, codes, amounts, async (from, to, target) => {
        const parties = { from, to, recipient: { corridor: corridor({}) } };
        const price = await priceOf(parties, arriving(target), DEMO_RATES);
        if (!price) return;
        const of = await pricePayment(parties, leaving(price.amount), DEMO_RATES);
        expect([price.fee, price.rateText, price.dated]).toEqual([of.fee, of.rateText, of.dated]);
      }),
    ));
});

/** The corridor to India, whose fee schedule is in dollars. */
const corridor = (part: Partial<PaidCorridor>): PaidCorridor => ({
  id: 1,
  enabled: true,
  payoutMethod: 'LOCAL',
  limitCurrency: 'USD',
  minimum: minorUnits(0n),
  maximum: minorUnits(MINOR_UNITS_MAX),
  ...part,
});

describe('a payment with a fixed target amount', () => {
  const price = (target: bigint, part: Partial<PaidCorridor> = {}, from: CurrencyCode = 'USD') =>
    pricePayment(
      { from, to: 'INR', recipient: { corridor: corridor(part) } },
      arriving(minorUnits(target)),
      DEMO_RATES,
    );

  it('arrives exactly, even if one debited minor unit is worth many arriving ones', async () => {
    expect(await price(1_000n)).toMatchObject({
      amount: 13n,
      targetAmount: 1_000n,
      rateText: '83',
      fixedSide: 'target',
      remainder: { numerator: 7_900n, denominator: 100n },
    });
    expect(await price(83n)).toMatchObject({ amount: 1n, remainder: { numerator: 0n } });
    expect(await price(84n)).toMatchObject({ amount: 2n, targetAmount: 84n });
  });

  it('has equal amounts within a currency, without a call of the source', async () => {
    const within = { from: 'EUR', to: 'EUR', recipient: {} } as const;

    expect(await pricePayment(within, arriving(minorUnits(1_234n)), NO_RATES)).toMatchObject({
      amount: 1_234n,
      targetAmount: 1_234n,
      fee: 0n,
    });
    expect(await pricePayment(within, arriving(minorUnits(MINOR_UNITS_MAX)), NO_RATES)).toMatchObject({
      amount: MINOR_UNITS_MAX,
    });
  });

  it('is refused outside of the limits by the field of the request', async () => {
    const limits = { minimum: minorUnits(1_000n), maximum: minorUnits(2_000n) };

    await expect(price(82_917n, limits)).rejects.toMatchObject({
      reason: 'amount_below_minimum',
      message: 'The amount is below the corridor minimum of 10.00 USD.',
      details: [{ path: '/targetAmount', reason: 'amount_below_minimum' }],
    });
    expect(await price(82_918n, limits)).toMatchObject({ amount: 1_000n });
    expect(await price(166_000n, limits)).toMatchObject({ amount: 2_000n });
    await expect(price(166_001n, limits)).rejects.toMatchObject({
      reason: 'amount_above_maximum',
      details: [{ path: '/targetAmount' }],
    });
  });

  it('is compared by SWIFT with the arriving amount', async () => {
    const swift = { payoutMethod: 'SWIFT', swiftMinimum: minorUnits(400_000n) };

    // Both debit 48.20 USD, which convert to 4,000.60 INR.
    await expect(price(399_999n, swift)).rejects.toMatchObject({
      reason: 'amount_below_minimum',
      message: 'The target amount is below the minimum of 4000.00 INR.',
      details: [{ path: '/targetAmount' }],
    });
    expect(await price(400_000n, swift)).toMatchObject({ amount: 4_820n, targetAmount: 400_000n });
  });

  it('is refused if its amount is more than the books store', async () => {
    const dear = pricePayment(
      { from: 'JPY', to: 'KWD' },
      arriving(minorUnits(MINOR_UNITS_MAX)),
      at('JPY', 1n, 10n ** 6n),
    );

    await expect(dear).rejects.toMatchObject({
      reason: 'amount_out_of_range',
      message: 'The amount to pay is larger than the service can store. Request a smaller target amount.',
      details: [{ path: '/targetAmount' }],
    });
    expect(await reasonOf(pricePayment({ from: 'USD', to: 'INR' }, arriving(minorUnits(1n)), NO_RATES))).toBe(
      'rate_unavailable',
    );
  });
});
