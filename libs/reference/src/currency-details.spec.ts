import { currencyOf } from '@banking/domain';
import { SWIFT_MINIMUMS, SWIFT_MINIMUM_SOURCE, swiftMinimumOf } from './currency-details.js';

describe('Given the SWIFT minimums', () => {
  it('When they are read, Then each is plain digits for a currency we know, once per currency', () => {
    for (const { currencyCode, swiftMinimumWithdrawalAmount } of SWIFT_MINIMUMS) {
      expect(currencyOf(currencyCode)).toMatchObject({ code: currencyCode });
      expect(swiftMinimumWithdrawalAmount).toMatch(/^[1-9][0-9]{0,18}$/);
    }
    expect(new Set(SWIFT_MINIMUMS.map((minimum) => minimum.currencyCode)).size).toBe(SWIFT_MINIMUMS.length);
  });

  it('When dollars are asked for, Then it is fifty, in cents', () => {
    expect(swiftMinimumOf('USD')).toBe('5000');
  });

  it('When a currency has none, Then nothing is made up', () => {
    expect(swiftMinimumOf('XTS')).toBeUndefined();
  });

  it('When somebody asks who says so, Then the answer is demo', () => {
    expect(SWIFT_MINIMUM_SOURCE.kind).toBe('demo');
  });
});
