import { createHash } from 'node:crypto';
import { reasonOf } from '@banking/postgres/testing';
import { keyConflict, keyOf } from './idempotency-key.js';

const request = { workspaceId: 7, operation: 'placeOrder/17', content: { b: '2', a: '1' } };

describe('keyOf', () => {
  it('returns the key with the hash of the content, whatever the order of its members', () => {
    const fingerprint = createHash('sha256').update('{"a":"1","b":"2"}').digest();

    expect(keyOf(request, 'key')).toEqual({ workspaceId: 7, operation: 'placeOrder/17', key: 'key', fingerprint });
    expect(keyOf({ ...request, content: { a: '1', b: '2' } }, 'key')?.fingerprint).toEqual(fingerprint);
  });

  it('returns nothing without a key', () => {
    expect(keyOf(request, undefined)).toBeUndefined();
  });

  it.each(['', ' ', 'a b', 'ä', 'x'.repeat(256)])('refuses the key %j', async (key) => {
    expect(await reasonOf(Promise.resolve().then(() => keyOf(request, key)))).toBe('idempotency_key_invalid');
  });
});

describe('keyConflict', () => {
  it('is no refusal for the same request, and one for another', () => {
    const key = keyOf(request, 'key')!;

    expect(keyConflict(key, keyOf({ ...request }, 'key')!)).toBeUndefined();
    expect(keyConflict(key, keyOf({ ...request, content: {} }, 'key')!)).toMatchObject({
      reason: 'idempotency_key_reused',
    });
  });
});
