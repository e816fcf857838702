import * as fc from 'fast-check';
import {
  MINOR_UNITS_MAX,
  type MinorUnits,
  add,
  compare,
  fromBalanceAmount,
  minorUnits,
  parseTransferAmount,
  split,
  subtract,
  toBalanceAmount,
  toTransferAmount,
} from './amount.js';
import { Refusal } from './refusal-table.js';

const amounts = fc.bigInt({ min: 0n, max: MINOR_UNITS_MAX }).map(minorUnits);
const signedAmounts = fc.bigInt({ min: -MINOR_UNITS_MAX, max: MINOR_UNITS_MAX }).map(minorUnits);
const weights = fc
  .array(fc.bigInt({ min: 0n, max: 10_000n }), { minLength: 1, maxLength: 12 })
  .filter((list) => list.some((weight) => weight > 0n));
const digitsAndNoise = fc.string({ unit: fc.constantFrom(...'0123456789-+. eE_٣１') });

describe('an amount of a transfer', () => {
  it('is the same amount after being written and read', () => {
    fc.assert(fc.property(amounts, (amount) => parseTransferAmount(toTransferAmount(amount)) === amount));
  });

  it('has exactly one spelling', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), digitsAndNoise, fc.bigInt().map(String)), (text) => {
        const amount = readOrRefused(() => parseTransferAmount(text));
        return amount === undefined || toTransferAmount(amount) === text;
      }),
    );
  });

  it.each(['', '-1', '+1', '1.00', '01', '00', ' 1', '1\n', '1e3', '0x1', '1_000', '１', '٣', '10000000000000000000'])(
    'is refused when it is written %j',
    (text) => {
      const { reason, message } = refusalOf(() => parseTransferAmount(text));
      expect(reason).toBe('amount_malformed');
      expect(message).toContain('in digits, in the smallest unit');
    },
  );

  it('is accepted at the limit of the books and refused above it', () => {
    expect(parseTransferAmount('9223372036854775807')).toBe(MINOR_UNITS_MAX);
    const { reason, message } = refusalOf(() => parseTransferAmount('9223372036854775808'));
    expect(reason).toBe('amount_out_of_range');
    expect(message).toContain('9223372036854775807');
  });

  it('is never negative', () => {
    expect(() => toTransferAmount(minorUnits(-1n))).toThrow('negative');
  });
});

describe('an amount of a balance', () => {
  it('is the same amount after being written and read, or is refused', () => {
    fc.assert(
      fc.property(signedAmounts, (amount) => {
        const magnitude = amount < 0n ? -amount : amount;
        if (magnitude <= BigInt(Number.MAX_SAFE_INTEGER)) return fromBalanceAmount(toBalanceAmount(amount)) === amount;
        expect(() => toBalanceAmount(amount)).toThrow(expect.objectContaining({ reason: 'amount_out_of_range' }));
        return true;
      }),
    );
  });

  it('is limited to 2^53 - 1 in both directions', () => {
    expect(toBalanceAmount(minorUnits(9_007_199_254_740_991n))).toBe(9_007_199_254_740_991);
    expect(toBalanceAmount(minorUnits(-9_007_199_254_740_991n))).toBe(-9_007_199_254_740_991);
    for (const beyond of [9_007_199_254_740_992n, -9_007_199_254_740_992n]) {
      expect(refusalOf(() => toBalanceAmount(minorUnits(beyond))).message).toContain('9007199254740991');
    }
  });

  it.each([0.5, NaN, Infinity, 2 ** 53])('is an error and not a refusal for %p', (amount) => {
    expect(() => fromBalanceAmount(amount)).toThrow('not a whole number of minor units');
    expect(() => fromBalanceAmount(amount)).not.toThrow(Refusal);
  });
});

describe('arithmetic', () => {
  it('subtracts what it added', () => {
    const halves = fc.bigInt({ min: -MINOR_UNITS_MAX / 2n, max: MINOR_UNITS_MAX / 2n }).map(minorUnits);
    fc.assert(fc.property(halves, halves, (left, right) => subtract(add(left, right), right) === left));
  });

  it('refuses a result outside the range of the books', () => {
    expect(() => add(minorUnits(MINOR_UNITS_MAX), minorUnits(1n))).toThrow(Refusal);
    expect(() => subtract(minorUnits(-MINOR_UNITS_MAX), minorUnits(1n))).toThrow(Refusal);
  });

  it('orders amounts as numbers, not as text', () => {
    fc.assert(
      fc.property(fc.array(signedAmounts), (list) => {
        const sorted = list.toSorted(compare);
        return sorted.every((amount, index) => index === 0 || (sorted[index - 1] as MinorUnits) <= amount);
      }),
    );
    expect(compare(minorUnits(9n), minorUnits(10n))).toBe(-1);
    expect(compare(minorUnits(10n), minorUnits(9n))).toBe(1);
    expect(compare(minorUnits(9n), minorUnits(9n))).toBe(0);
  });
});

describe('an amount split by weight', () => {
  it('has shares that add up to the amount', () => {
    fc.assert(fc.property(amounts, weights, (amount, by) => sum(split(amount, by)) === amount));
  });

  it('has shares less than one unit away from their exact part, and none for a zero weight', () => {
    fc.assert(
      fc.property(amounts, weights, (amount, by) => {
        const total = sum(by);
        return split(amount, by).every((share, index) => {
          const weight = by[index] ?? 0n;
          const off = share * total - amount * weight;
          return off > -total && off < total && (weight > 0n || share === 0n);
        });
      }),
    );
  });

  it('is thirty-four, thirty-three and thirty-three cents for a euro in three', () => {
    expect(split(minorUnits(100n), [1n, 1n, 1n])).toEqual([34n, 33n, 33n]);
    expect(split(minorUnits(1n), [0n, 1n, 1n])).toEqual([0n, 1n, 0n]);
  });

  it('gives no additional unit to an exact share', () => {
    expect(split(minorUnits(3n), [2n, 1n, 3n])).toEqual([1n, 1n, 1n]);
  });

  it.each([{ by: [] }, { by: [0n] }, { by: [2n, -1n] }])('refuses the weights $by', ({ by }) => {
    expect(() => split(minorUnits(1n), by)).toThrow('weights');
  });

  it('has shares of zero for an amount of zero', () => {
    expect(split(minorUnits(0n), [1n, 2n])).toEqual([0n, 0n]);
  });

  it('refuses a negative amount', () => {
    expect(() => split(minorUnits(-1n), [1n])).toThrow('zero or more');
  });
});

function sum(list: readonly bigint[]): bigint {
  return list.reduce((total, item) => total + item, 0n);
}

function refusalOf(call: () => unknown): Refusal {
  try {
    call();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('there was no refusal');
}

/** The parsed amount, or undefined if it is refused. Any other error is thrown. */
function readOrRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
