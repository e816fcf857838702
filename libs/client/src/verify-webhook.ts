import { WebhookVerificationError } from './webhook-error.js';
import { bytesOf, VERSION, type WebhookKey, webhookKeys } from './webhook-keys.js';
import { signedContent, type Webhook, WEBHOOK_ID } from './webhook-message.js';
import { hasWideInteger } from './read-response.js';

/** The headers of a request: the `Headers` of fetch, or an object, such as the `IncomingHttpHeaders` of Node. */
export type WebhookHeaders =
  { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyWebhookOptions {
  /** For tests. The system clock by default. */
  readonly now?: () => Date;
}

/** How far the clocks of sender and receiver may differ, with the time in transit: five minutes. */
const TOLERANCE_SECONDS = 300;

/** A sender needs one signature for each secret. Others would only cost time. */
const MAX_SIGNATURES = 16;

/**
 * Verifies for a receiver that the owner of the secret sent exactly this webhook, by Standard Webhooks 1.0.
 *
 * A webhook can arrive more than once, each time with the same `webhook-id`. The receiver compares it with the ids that it
 * has processed.
 *
 * @param rawBody the body as it arrived. A body that was parsed and written again has another signature.
 * @param secrets one or several: `whsec_…`.
 * @throws WebhookVerificationError if the request is not a webhook of an owner of a secret.
 * @throws TypeError for a secret of another form, without quoting it, and for a body that is not text or bytes.
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  rawBody: string | Uint8Array,
  secrets: string | readonly string[],
  { now = () => new Date() }: VerifyWebhookOptions = {},
): Promise<Webhook> {
  const keys = await webhookKeys(secrets, 'verify');
  const body = rawBytes(rawBody);
  const id = headerOf(headers, 'webhook-id');
  const seconds = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature').split(' ');
  if (!WEBHOOK_ID.test(id)) throw malformed('webhook-id');
  if (signatures.length > MAX_SIGNATURES) throw malformed('webhook-signature');
  expectRecent(seconds, now());

  if (!(await isSigned(signatures, keys, signedContent(id, seconds, body)))) {
    throw new WebhookVerificationError(
      'signature_mismatch',
      'No signature matches this body and these secrets. Pass the body as it arrived, before it is parsed.',
    );
  }
  return webhookOf(body);
}

function rawBytes(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody);
  if (rawBody instanceof Uint8Array) return rawBody;
  throw new TypeError('The body is neither a text nor a Uint8Array. Pass it as it arrived, before it is parsed.');
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const [value, ...others] = valuesOf(headers, name);
  if (value === undefined) {
    throw new WebhookVerificationError('header_missing', `The request has no header ${name}.`);
  }
  if (others.length > 0) throw malformed(name);
  return value;
}

function valuesOf(headers: WebhookHeaders, name: string): readonly string[] {
  if (typeof headers.get === 'function') {
    const value = headers.get(name);
    return value === null ? [] : [value];
  }
  return Object.entries(headers as Readonly<Record<string, string | readonly string[] | undefined>>)
    .filter(([given]) => given.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
}

function expectRecent(seconds: string, now: Date): void {
  if (!/^[1-9][0-9]{0,11}$/.test(seconds)) throw malformed('webhook-timestamp');
  const age = Math.floor(now.getTime() / 1000) - Number(seconds);
  // Written so that an invalid clock is refused too.
  if (!(age <= TOLERANCE_SECONDS)) {
    throw new WebhookVerificationError('timestamp_too_old', 'The webhook was sent more than five minutes ago.');
  }
  if (age < -TOLERANCE_SECONDS) {
    throw new WebhookVerificationError('timestamp_too_new', 'The webhook was sent over five minutes in the future.');
  }
}

/** WebCrypto compares in constant time. */
async function isSigned(
  signatures: readonly string[],
  keys: readonly WebhookKey[],
  content: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  for (const text of signatures) {
    const signature = text.startsWith(VERSION) ? bytesOf(text.slice(VERSION.length)) : undefined;
    if (!signature) continue;
    for (const key of keys) {
      if (await crypto.subtle.verify('HMAC', key, signature, content)) return true;
    }
  }
  return false;
}

function webhookOf(body: Uint8Array): Webhook {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    // Not UTF-8 or not JSON: reported below.
  }
  const { type, timestamp, data } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isWebhook =
    typeof type === 'string' && typeof timestamp === 'string' && typeof data === 'object' && data !== null;
  if (isWebhook && !hasWideInteger(value)) return value as Webhook;
  throw new WebhookVerificationError('body_malformed', 'The body is not the JSON of a webhook: type, timestamp, data.');
}

const malformed = (name: string) =>
  new WebhookVerificationError('header_malformed', `The header ${name} occurs twice, or has another form.`);
