import {
  convert,
  type CurrencyCode,
  decimalsOf,
  inverse,
  minorUnits,
  MINOR_UNITS_MAX,
  type MinorUnits,
  type Rate,
  rateOf,
} from '@banking/domain';
import { CORRIDORS, feeOf, feeScheduleOf } from '@banking/reference';
import * as fc from 'fast-check';
import { DEMO_RATES } from '@banking/rates';
import { crossRate, readRateDocument } from '@banking/rates';
import { NO_RATES, type RateSource } from '@banking/rates';
import { reasonOf } from '@banking/postgres/testing';
import type { FixedAmount, PaidCorridor, PaymentParties } from './payment-facts.js';
import { pricePayment } from './price-payment.js';

const CODES = ['USD', 'EUR', 'GBP', 'JPY', 'KWD', 'INR', 'IDR', 'BHD'] as const;
const codes = fc.constantFrom<CurrencyCode>(...CODES);
const amounts = fc.bigInt({ min: 1n, max: 10n ** 12n }).map(minorUnits);

/** The widest limits, so that only the limit under test applies. */
const open = (id: number, part: Partial<PaidCorridor> = {}): PaidCorridor => ({
  id,
  enabled: true,
  payoutMethod: 'LOCAL',
  limitCurrency: (feeScheduleOf(id)?.currency ?? 'EUR') as CurrencyCode,
  minimum: minorUnits(0n),
  maximum: minorUnits(MINOR_UNITS_MAX),
  ...part,
});
const abroad = (from: CurrencyCode, to: CurrencyCode, corridor: PaidCorridor): PaymentParties => ({
  from,
  to,
  recipient: { corridor },
});
const charging = CORRIDORS.filter(({ id }) => feeScheduleOf(id)).map(({ id }) => id);
const chargedOver = fc.constantFrom(...charging);
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
        expect(priced).not.toHaveProperty('fee');
      }),
    );
  });

  it('has a fee that is not lower for a larger amount', async () => {
    await isKept(
      fc.asyncProperty(codes, codes, chargedOver, amounts, amounts, async (from, to, id, one, other) => {
        const [less, more] = one < other ? [one, other] : [other, one];
        const [small, large] = await Promise.all(
          [less, more].map((amount) =>
            pricePayment(abroad(from, to, open(id)), paying(amount), DEMO_RATES).catch(() => undefined),
          ),
        );
        if (small && large) expect(small.fee! <= large.fee!).toBe(true);
      }),
    );
  });

  it('has the fee of the schedule, within its bounds, at the rate of a payment into the currency of the schedule', async () => {
    await isKept(
      fc.asyncProperty(codes, chargedOver, amounts, async (from, id, amount) => {
        const schedule = feeScheduleOf(id)!;
        const to = schedule.currency;
        const priced = await pricePayment(abroad(from, to, open(id)), paying(amount), DEMO_RATES).catch(
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
                pricePayment(abroad(from, to, open(0, { limitCurrency: to, ...part })), paying(amount), at(text)),
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
  const rupees = (part: Partial<PaidCorridor>) => abroad('USD', 'INR', open(1, { limitCurrency: 'USD', ...part }));
  const price = (parties: PaymentParties, amount: bigint, rates: RateSource = DEMO_RATES) =>
    pricePayment(parties, paying(minorUnits(amount)), rates);

  it('is compared with a limit in a third currency at the exact rate', async () => {
    const yenLimit = abroad('EUR', 'INR', open(0, { limitCurrency: 'JPY', minimum: minorUnits(17_907n) }));

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
      rateOf: async (from, to) => ({ ...(crossRate(document, from, to) as Rate), source: 'spec', asOf: document.asOf }),
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
    const inDollars = charging.find(
      (id) => feeScheduleOf(id)!.currency === 'USD' && feeScheduleOf(id)!.fixed === 100n,
    )!;

    expect(await price(abroad('USD', 'INR', open(inDollars)), 250_000n)).toMatchObject({ fee: 600n });
    // 2500.00 USD are 2150.00 EUR; 6.00 USD are 5.16 EUR.
    expect(await price(abroad('EUR', 'INR', open(inDollars)), 215_000n)).toMatchObject({ fee: 516n });
    // … and 385,000 yen; 924 yen, without decimals.
    expect(await price(abroad('JPY', 'INR', open(inDollars)), 385_000n)).toMatchObject({ fee: 924n });
  });
});
