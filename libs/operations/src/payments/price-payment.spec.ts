import * as fc from 'fast-check';
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
import { reasonOf, testOrProve } from '@banking/postgres/testing';
import {
  crossRate,
  demoReference,
  DEMO_RATES,
  feeOf,
  type FeeSchedule,
  NO_RATES,
  type RateSource,
  readRateDocument,
} from '@banking/reference';
import type { FixedAmount, PaidCorridor, PaymentParties } from './payment-facts.js';
import { type Price, pricePayment } from './price-payment.js';

/** The fee schedules of the demo. */
const SCHEDULES: readonly FeeSchedule[] = demoReference().corridors!.flatMap(({ limitCurrency, fee }) =>
  fee === undefined
    ? []
    : {
        currency: limitCurrency,
        fixed: minorUnits(BigInt(fee.fixedAmount)),
        partsPerMillion: BigInt(fee.partsPerMillion),
        minimum: minorUnits(BigInt(fee.minimumAmount)),
        ...(fee.maximumAmount !== undefined && { maximum: minorUnits(BigInt(fee.maximumAmount)) }),
      },
);

/** Currencies with 0, 2, 3 and 4 decimals. */
const codes = fc.constantFrom<CurrencyCode>('JPY', 'USD', 'KWD', 'CLF', 'INR');
const amounts = fc.oneof(fc.bigInt({ min: 1n, max: 100n }), fc.bigInt({ min: 1n, max: 10n ** 18n })).map(minorUnits);
const leaving = (value: MinorUnits): FixedAmount => ({ side: 'source', value, field: 'amount' });
const arriving = (value: MinorUnits): FixedAmount => ({ side: 'target', value, field: 'targetAmount' });

describe('price payment', () => {
  const CODES = ['USD', 'EUR', 'GBP', 'JPY', 'KWD', 'INR', 'IDR', 'BHD'] as const;
  const codes = fc.constantFrom<CurrencyCode>(...CODES);
  const amounts = fc.bigInt({ min: 1n, max: 10n ** 12n }).map(minorUnits);

  /** The widest limits, so that only the limit under test applies. */
  const open = (fee: FeeSchedule | undefined, part: Partial<PaidCorridor> = {}): PaidCorridor => ({
    id: 1,
    enabled: true,
    payoutMethod: 'LOCAL',
    ...(fee && { fee }),
    limitCurrency: fee?.currency ?? 'EUR',
    minimum: minorUnits(0n),
    maximum: minorUnits(MINOR_UNITS_MAX),
    ...part,
  });

  const abroad = (from: CurrencyCode, to: CurrencyCode, corridor: PaidCorridor): PaymentParties => ({
    from,
    to,
    recipient: { corridor },
  });

  const chargedBy = fc.constantFrom(...SCHEDULES);
  const paying = (value: MinorUnits): FixedAmount => ({ side: 'source', value, field: 'amount' });
  const isKept = async (property: fc.IAsyncProperty<unknown>) => fc.assert(property, { numRuns: 200 });

  /** Whole units, as a source reports them; exact fractions that have no finite decimal. */
  const at = (text: string): RateSource => ({
    rateOf: async (from, to) => ({ ...rateOf(from, to, text), source: 'spec', asOf: '2026-11-21T00:00:00Z' }),
  });

  describe('a price', () => {
    it('can be recomputed from the amount and the shown rate, to the last digit', async () => {
      await isKept(
        fc.asyncProperty(codes, codes, amounts, async (from, to, amount) => {
          const priced = await pricePayment({ from, to }, paying(amount), DEMO_RATES).catch(() => undefined);
          if (!priced) return;
          const again = convert(amount, rateOf(from, to, priced.rateText), 'down');
          expect([priced.targetAmount, priced.remainder]).toEqual([again.amount, again.remainder]);
          expect(priced.fee).toBeUndefined();
        }),
      );
    });

    it('has a fee that is not lower for a larger amount', async () => {
      await isKept(
        fc.asyncProperty(codes, codes, chargedBy, amounts, amounts, async (from, to, schedule, one, other) => {
          const [less, more] = one < other ? [one, other] : [other, one];
          const [small, large] = await Promise.all(
            [less, more].map((amount) =>
              pricePayment(abroad(from, to, open(schedule)), paying(amount), DEMO_RATES).catch(() => undefined),
            ),
          );
          if (small && large) expect(small.fee! <= large.fee!).toBe(true);
        }),
      );
    });

    it('has the fee of the schedule, within its bounds, at the rate of a payment into the currency of the schedule', async () => {
      await isKept(
        fc.asyncProperty(codes, chargedBy, amounts, async (from, schedule, amount) => {
          const to = schedule.currency;
          const priced = await pricePayment(abroad(from, to, open(schedule)), paying(amount), DEMO_RATES).catch(
            () => undefined,
          );
          if (!priced) return;
          const rate = rateOf(from, to, priced.rateText);
          const charged = feeOf(schedule, convert(amount, rate, 'up').amount, 'up');
          expect(priced.fee).toBe(convert(charged, inverse(rate), 'up').amount);
          expect(priced.fee! >= convert(schedule.minimum, inverse(rate), 'up').amount).toBe(true);
          if (schedule.maximum !== undefined) {
            expect(priced.fee! <= convert(schedule.maximum, inverse(rate), 'up').amount).toBe(true);
          }
        }),
      );
    });

    it('is compared exactly with the limits, which are allowed amounts', async () => {
      const bounds = fc.bigInt({ min: 2n, max: 10n ** 10n }).map(minorUnits);
      const decimals = fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 8n }), fc.nat({ max: 4 })).map(([digits, places]) => {
        const text = digits.toString().padStart(places + 1, '0');
        return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
      });
      await isKept(
        fc.asyncProperty(codes, codes, decimals, bounds, async (from, to, text, bound) => {
          const rate = rateOf(from, from === to ? from : to, from === to ? '1' : text);
          const unit = rate.denominator * 10n ** BigInt(decimalsOf(from));
          const scale = rate.numerator * 10n ** BigInt(decimalsOf(to));
          // The smallest amount worth at least the limit, and the largest worth at most the limit.
          const least = minorUnits((bound * unit + scale - 1n) / scale);
          const most = minorUnits((bound * unit) / scale);
          const word = (amount: MinorUnits, part: Partial<PaidCorridor>) =>
            amount < 1n
              ? undefined
              : reasonOf(
                  pricePayment(
                    abroad(from, to, open(undefined, { limitCurrency: to, ...part })),
                    paying(amount),
                    at(text),
                  ),
                );
          const inside = expect.not.stringMatching(/above_maximum/) as unknown;

          if (least > 1n) expect(await word(minorUnits(least - 1n), { minimum: bound })).toBe('amount_below_minimum');
          expect(await word(least, { minimum: bound })).toBe(undefined);
          expect(await word(minorUnits(most + 1n), { maximum: bound })).toBe('amount_above_maximum');
          expect((await word(most, { maximum: bound })) ?? '').toEqual(inside);
        }),
      );
    });
  });

  describe('a payment', () => {
    const rupees = (part: Partial<PaidCorridor>) =>
      abroad('USD', 'INR', open(undefined, { limitCurrency: 'USD', ...part }));
    const price = (parties: PaymentParties, amount: bigint, rates: RateSource = DEMO_RATES) =>
      pricePayment(parties, paying(minorUnits(amount)), rates);

    it('is compared with a limit in a third currency at the exact rate', async () => {
      const yenLimit = abroad('EUR', 'INR', open(undefined, { limitCurrency: 'JPY', minimum: minorUnits(17_907n) }));

      // 100.00 EUR are 17,906.97… yen, which rounds up to the limit and is below it.
      await expect(price(yenLimit, 10_000n)).rejects.toMatchObject({
        reason: 'amount_below_minimum',
        message: 'The amount is below the corridor minimum of 17907 JPY.',
        details: [{ path: '/amount', reason: 'amount_below_minimum' }],
      });
      expect(await price(yenLimit, 10_001n)).toMatchObject({ rateText: '96.5116279069767' });
    });

    it('is refused above the limit, up to the largest amount', async () => {
      await expect(price(rupees({ maximum: minorUnits(5_000_000n) }), MINOR_UNITS_MAX)).rejects.toMatchObject({
        reason: 'amount_above_maximum',
        message: 'The amount is above the corridor maximum of 50000.00 USD.',
      });
    });

    it('is refused if more arrives than the books store', async () => {
      expect(await reasonOf(price({ from: 'USD', to: 'JPY' }, MINOR_UNITS_MAX))).toBe('amount_out_of_range');
      expect(await reasonOf(price({ from: 'USD', to: 'INR' }, MINOR_UNITS_MAX))).toBe('amount_out_of_range');
      expect(await price({ from: 'USD', to: 'USD' }, MINOR_UNITS_MAX)).toMatchObject({ targetAmount: MINOR_UNITS_MAX });
    });

    it('is refused as too small if nothing would arrive', async () => {
      await expect(price({ from: 'IDR', to: 'KWD' }, 1n)).rejects.toMatchObject({
        reason: 'amount_below_minimum',
        message: 'The target amount is below the minimum of 0.001 KWD.',
      });
    });

    it('must arrive with the minimum of the correspondent banks by SWIFT, and by no other method', async () => {
      const swift = rupees({ payoutMethod: 'SWIFT', swiftMinimum: minorUnits(400_000n) });
      const local = rupees({ swiftMinimum: minorUnits(400_000n) });

      await expect(price(swift, 4_819n)).rejects.toMatchObject({
        reason: 'amount_below_minimum',
        message: 'The target amount is below the minimum of 4000.00 INR.',
      });
      expect(await price(swift, 4_820n)).toMatchObject({ targetAmount: 400_060n });
      expect(await price(local, 4_819n)).toMatchObject({ targetAmount: 399_977n });
    });

    it('is refused before a rate is read if its corridor is closed', async () => {
      expect(await reasonOf(price(rupees({ enabled: false }), 1n, NO_RATES))).toBe('corridor_disabled');
    });

    it('reads no rate within a currency', async () => {
      expect(await price({ from: 'EUR', to: 'EUR', recipient: {} }, 1_234n, NO_RATES)).toEqual({
        amount: 1_234n,
        targetAmount: 1_234n,
        fixedSide: 'source',
        remainder: { numerator: 0n, denominator: expect.any(BigInt) as bigint },
        rateText: '1',
        fee: 0n,
      });
      expect(await reasonOf(price({ from: 'EUR', to: 'USD' }, 1n, NO_RATES))).toBe('rate_unavailable');
    });

    it('shows a rate that is lower by the spread, in both directions', async () => {
      const document = readRateDocument(
        '{"base":"USD","asOf":"2026-11-21T00:00:00Z","rates":{"INR":83},"spreadBasisPoints":{"USD/INR":25}}',
      )!;
      const spread: RateSource = {
        rateOf: async (from, to) => ({
          ...(crossRate(document, from, to) as Rate),
          source: 'spec',
          asOf: document.asOf,
        }),
      };

      expect(await price({ from: 'USD', to: 'INR' }, 10_000n, spread)).toMatchObject({
        rateText: '82.7925',
        targetAmount: 827_925n,
      });
      expect(await price({ from: 'INR', to: 'USD' }, 827_925n, spread)).toMatchObject({
        rateText: '0.012018072289156',
        targetAmount: 9_950n,
      });
    });

    it('is refused if its rate cannot be written', async () => {
      const beyond: RateSource = {
        rateOf: async (from, to) => ({ from, to, numerator: 10n ** 15n, denominator: 1n, source: 'spec', asOf: '' }),
      };

      expect(await reasonOf(price({ from: 'USD', to: 'INR' }, 1n, beyond))).toBe('rate_unavailable');
    });

    it('has the fee of a schedule in dollars, converted for a payer in another currency', async () => {
      const inDollars = SCHEDULES.find(({ currency, fixed }) => currency === 'USD' && fixed === 100n)!;

      expect(await price(abroad('USD', 'INR', open(inDollars)), 250_000n)).toMatchObject({ fee: 600n });
      // 2500.00 USD are 2150.00 EUR; 6.00 USD are 5.16 EUR.
      expect(await price(abroad('EUR', 'INR', open(inDollars)), 215_000n)).toMatchObject({ fee: 516n });
      // … and 385,000 yen; 924 yen, without decimals.
      expect(await price(abroad('JPY', 'INR', open(inDollars)), 385_000n)).toMatchObject({ fee: 924n });
    });
  });
});

describe('target amount', () => {
  const parts = fc.oneof(fc.bigInt({ min: 1n, max: 1_000n }), fc.bigInt({ min: 1n, max: 10n ** 18n }));

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
      again: {
        readonly from: CurrencyCode;
        readonly to: CurrencyCode;
        readonly rate: Rate;
        readonly rates: RateSource;
      },
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
      { numRuns: testOrProve(500, 2_000) },
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
    fee: SCHEDULES.find(({ currency }) => currency === 'USD')!,
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

    it('is itself compared with limits in its currency', async () => {
      const limits = { limitCurrency: 'INR', minimum: minorUnits(1_000n), maximum: minorUnits(1_000n) } as const;

      // 0.13 USD are worth 10.79 INR.
      expect(await price(1_000n, limits)).toMatchObject({ amount: 13n, targetAmount: 1_000n });
      await expect(price(999n, limits)).rejects.toMatchObject({ reason: 'amount_below_minimum' });
      await expect(price(1_001n, limits)).rejects.toMatchObject({ reason: 'amount_above_maximum' });
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
});

describe('conversions gain nothing', () => {
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
        { numRuns: testOrProve(500, 2_000) },
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
    it('is never below its schedule for the exact amount, at the rate of the payment', async () => {
      await fc.assert(
        fc.asyncProperty(
          codes,
          fc.constantFrom(...SCHEDULES),
          fractions,
          amounts,
          async (from, fee, fraction, amount) => {
            const { currency, fixed, partsPerMillion, minimum, maximum } = fee;
            if (currency === from) return;
            const corridor = {
              id: 1,
              enabled: true,
              fee,
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
          },
        ),
        { numRuns: testOrProve(300, 1_000) },
      );
    });
  });
});
