import * as fc from 'fast-check';
import { payoutKey } from '@banking/payouts';
import { endToEndIdOf, keyOfEndToEndId } from './end-to-end-id.js';

const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const nonce = fc.nat(2 ** 48 - 1).map((value) => value.toString(16).padStart(12, '0'));

describe('the id of a payment in a file', () => {
  it('has at most 35 characters, and the key of a payout can be read from it', () => {
    fc.assert(
      fc.property(fc.oneof(id, fc.integer({ min: 1, max: 9_999 })), id, nonce, (workspaceId, transactionId, random) => {
        const key = payoutKey({ workspaceId, transactionId, nonce: random });
        const endToEndId = endToEndIdOf(key);
        expect(endToEndId).toMatch(/^[A-Za-z0-9-]{1,35}$/);
        expect(keyOfEndToEndId(endToEndId)).toBe(key);
        if (key.length <= 35) expect(endToEndId).toBe(key);
      }),
    );
  });

  it('is a digest for another long key, or one with an underscore', () => {
    expect(endToEndIdOf('conformance_1')).toMatch(/^[0-9a-f]{35}$/);
    expect(endToEndIdOf('a'.repeat(36))).not.toBe(endToEndIdOf('a'.repeat(37)));
    expect(keyOfEndToEndId(endToEndIdOf('a'.repeat(36)))).toBeUndefined();
  });
});
