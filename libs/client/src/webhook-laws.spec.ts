import * as fc from 'fast-check';
import { signWebhook, type SignableWebhook, verifyWebhook, WebhookVerificationError } from './webhooks.js';

const AT = new Date('2026-11-23T12:00:00Z');
const options = { now: () => AT };
const ID = 'evt_1_12';

const secretOf = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString('base64')}`;
const secrets = fc.uniqueArray(fc.uint8Array({ minLength: 24, maxLength: 64 }).map(secretOf), {
  minLength: 2,
  maxLength: 5,
});
const values = fc.oneof(fc.string({ unit: 'binary' }), fc.maxSafeInteger(), fc.boolean(), fc.array(fc.string()));
const webhooks = fc
  .record({ type: fc.string({ unit: 'binary' }), timestamp: fc.string(), data: fc.dictionary(fc.string(), values) })
  .map((body) => JSON.parse(JSON.stringify(body)) as SignableWebhook);

const isRefused = (verified: Promise<unknown>) =>
  verified.then(
    () => false,
    (error: unknown) => error instanceof WebhookVerificationError,
  );

/** The bytes with one bit of one of them inverted. */
function flipped(bytes: Uint8Array, place: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const at = Math.floor(place / 8) % copy.length;
  copy[at] = (copy[at] ?? 0) ^ (1 << (place % 8));
  return copy;
}

describe('law of webhooks', () => {
  it('a signed webhook is verified with any of its secrets, in any order', async () => {
    await fc.assert(
      fc.asyncProperty(webhooks, secrets, fc.nat(), fc.boolean(), async (webhook, all, place, isReversed) => {
        const { headers, body } = await signWebhook(webhook, all.slice(1), { id: ID, timestamp: AT });
        const known = [all[0] ?? '', all[1 + (place % (all.length - 1))] ?? ''];

        const verified = await verifyWebhook(headers, body, isReversed ? known.reverse() : known, options);
        expect(verified).toEqual(webhook);
      }),
    );
  });

  it('another secret refuses it', async () => {
    await fc.assert(
      fc.asyncProperty(webhooks, secrets, async (webhook, [secret = '', ...others]) => {
        const { headers, body } = await signWebhook(webhook, secret, { id: ID, timestamp: AT });

        expect(await isRefused(verifyWebhook(headers, body, others, options))).toBe(true);
      }),
    );
  });

  it('a flipped bit of the body, the id, the time or the signature is refused', async () => {
    const webhook = { type: 'order.placed', timestamp: 'T', data: { id: 1, text: 'Zürich 😀' } };
    const secret = secretOf(new Uint8Array(32).fill(3));
    const { headers, body } = await signWebhook(webhook, secret, { id: ID, timestamp: AT });
    const parts = ['body', 'webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
    const latin1 = (text: string) => Buffer.from(text, 'latin1');

    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...parts), fc.nat(), async (part, place) => {
        const isBody = part === 'body';
        const sentBody = isBody ? flipped(Buffer.from(body), place) : Buffer.from(body);
        const changed = isBody ? {} : { [part]: Buffer.from(flipped(latin1(headers[part]), place)).toString('latin1') };

        expect(await isRefused(verifyWebhook({ ...headers, ...changed }, sentBody, secret, options))).toBe(true);
      }),
      { numRuns: 500 },
    );
    expect(await isRefused(verifyWebhook(headers, body, secret, options))).toBe(false);
  });

  it('any headers and body throw a WebhookVerificationError and quote nothing', async () => {
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.array(fc.string()), fc.constant(undefined));
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
    const headers = fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
    const body = fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array());

    await fc.assert(
      fc.asyncProperty(headers, body, async (given, rawBody) => {
        expect(await isRefused(verifyWebhook(given, rawBody, secretOf(new Uint8Array(32)), options))).toBe(true);
      }),
    );
  });
});
