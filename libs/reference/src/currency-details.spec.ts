import { currencyOf } from '@banking/domain';
import { SWIFT_MINIMUMS, SWIFT_MINIMUM_SOURCE, swiftMinimumOf } from './currency-details.js';

describe('SWIFT minimums', () => {
  it('are positive whole numbers in digits, for current currencies', () => {
    for (const [currencyCode, minimum] of Object.entries(SWIFT_MINIMUMS)) {
      expect(currencyOf(currencyCode)).toMatchObject({ code: currencyCode });
      expect(minimum).toMatch(/^[1-9][0-9]{0,18}$/);
    }
  });

  it('are in minor units: fifty dollars in cents', () => {
    expect(swiftMinimumOf('USD')).toBe('5000');
  });

  it('are undefined for a currency without one', () => {
    expect(swiftMinimumOf('XTS')).toBeUndefined();
  });

  it('are marked as demo data', () => {
    expect(SWIFT_MINIMUM_SOURCE.kind).toBe('demo');
  });
});
