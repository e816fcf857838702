import * as fc from 'fast-check';
import { parsePayoutKey, payoutKey } from './payout-key.js';

const ids = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const nonces = fc.stringMatching(/^[0-9a-f]{12}$/);

describe('the key of a payout', () => {
  it('names the payout that it was made for', () => {
    fc.assert(
      fc.property(ids, ids, nonces, (workspaceId, transactionId, nonce) => {
        const name = { workspaceId, transactionId, nonce };
        expect(parsePayoutKey(payoutKey(name))).toEqual(name);
      }),
    );
  });

  it.each([
    '',
    'payout-1',
    'payout-1-2',
    'payout-1-2-',
    'payout-1-2-0123456789a',
    'payout-1-2-0123456789abc',
    'payout-1-2-0123456789aB',
    'payout-1-2-0123456789ag',
    'payout-1-20123456789ab',
    'payout-0-2-0123456789ab',
    'payout-1-0-0123456789ab',
    'payout-01-2-0123456789ab',
    'payout-1-02-0123456789ab',
    'payout--1-2-0123456789ab',
    'payout-a-2-0123456789ab',
    'payout-1-a-0123456789ab',
    'payout-1a-2-0123456789ab',
    'payout-1-2a-0123456789ab',
    'payout-9007199254740992-2-0123456789ab',
    'payout-1-9999999999999999-0123456789ab',
    'payout-12345678901234567-2-0123456789ab',
    'payout-1-12345678901234567-0123456789ab',
    'payout-1-2-0123456789ab-3',
    'payout-1-2-0123456789ab\n',
    'a payout-1-2-0123456789ab',
    'another-service',
  ])('is not %j', (key) => {
    expect(parsePayoutKey(key)).toBeUndefined();
  });
});
