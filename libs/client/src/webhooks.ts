/** Webhooks for a receiver: their verification, and signed ones for its tests. A separate entry, because no client needs it. */
import { type Event, type EventType, type Open, type Timestamp, BankingError } from '@banking/domain';
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

/** A body to sign. It is typed loosely, so that a test can sign what a receiver has to refuse. */
export interface SignableWebhook {
  readonly type: string;
  readonly timestamp: string;
  readonly data: object;
}

export interface SignWebhookOptions {
  /** The value of `webhook-id`: 1 to 256 letters, digits, `_` and `-`. */
  readonly id: string;
  /** The time of the attempt. It is sent in whole seconds. */
  readonly timestamp: Date;
}

/** A request to a receiver. */
export interface SignedWebhook {
  readonly headers: Readonly<Record<'content-type' | 'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>>;
  readonly body: string;
}

/**
 * Signs a webhook as the service does, for the tests of a receiver. The body is the JSON of the webhook.
 *
 * @param secrets one or several, as after a rotation: `whsec_…`.
 * @throws TypeError for an invalid id, timestamp or secret, without quoting it.
 */
export async function signWebhook(
  webhook: SignableWebhook,
  secrets: string | readonly string[],
  { id, timestamp }: SignWebhookOptions,
): Promise<SignedWebhook> {
  const seconds = Math.floor(timestamp.getTime() / 1000);
  if (!WEBHOOK_ID.test(id)) throw new TypeError('The id has other characters than letters, digits, "_" and "-".');
  if (!(seconds > 0)) throw new TypeError('The timestamp is not a time after 1970.');

  const keys = await webhookKeys(secrets, 'sign');
  const body = JSON.stringify(webhook);
  const content = signedContent(id, String(seconds), new TextEncoder().encode(body));
  const signatures = keys.map(
    async (key) => VERSION + base64Of(new Uint8Array(await crypto.subtle.sign('HMAC', key, content))),
  );
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': (await Promise.all(signatures)).join(' '),
    },
    body,
  };
}

/** The body of a webhook about an event. */
export interface WebhookEvent {
  readonly type: Open<EventType>;
  /** The time of the event. The header `webhook-timestamp` has the time of the attempt. */
  readonly timestamp: Timestamp;
  /** The event as `GET /events/{eventId}` returns it. It has no amounts or names: read the resource. */
  readonly data: Event;
}

/** The body of a webhook that a user requested to test an endpoint. */
export interface WebhookTest {
  readonly type: 'webhook.test';
  readonly timestamp: Timestamp;
  readonly data: Readonly<Record<string, never>>;
}

/** The body of a webhook. Without a test, `type !== 'webhook.test'`, it is a {@link WebhookEvent}. */
export type Webhook = WebhookEvent | WebhookTest;

/** The id of a webhook. Without a full stop, so that only one id, time and body have a signed content. */
const WEBHOOK_ID = /^[A-Za-z0-9_-]{1,256}$/;

/** What is signed: id, seconds since 1970 and body, with full stops between them. */
function signedContent(id: string, seconds: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${seconds}.`);
  const content = new Uint8Array(head.byteLength + body.byteLength);
  content.set(head);
  content.set(body, head.byteLength);
  return content;
}

/** A `CryptoKey` of WebCrypto, by a type that the declarations of browsers and of Node share. */
type WebhookKey = Parameters<typeof crypto.subtle.sign>[1];

/** What signatures of this service begin with: HMAC-SHA256 of Standard Webhooks. */
const VERSION = 'v1,';

const FORM = 'A secret is "whsec_" and 24 to 64 bytes in base64.';

/** @throws TypeError without quoting a secret, unless each is `whsec_…` */
async function webhookKeys(
  secrets: string | readonly string[],
  usage: 'sign' | 'verify',
): Promise<readonly WebhookKey[]> {
  const list: readonly unknown[] = typeof secrets === 'string' ? [secrets] : secrets;
  if (list.length === 0) throw new TypeError(`There is no secret. ${FORM}`);
  return Promise.all(
    list.map((secret) => {
      const [, base64 = ''] = /^whsec_(.+)$/.exec(typeof secret === 'string' ? secret : '') ?? [];
      const bytes = bytesOf(base64);
      if (!bytes || bytes.byteLength < 24 || bytes.byteLength > 64) {
        throw new TypeError(`A secret has another form. ${FORM}`);
      }
      return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [usage]);
    }),
  );
}

/** The bytes of canonical base64, so that one signature has one text. @returns undefined for another text */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return base64Of(bytes) === base64 ? bytes : undefined;
}

const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** Why a request is not a webhook of the owner of the secret. */
export type WebhookFault =
  /** A header of a webhook is missing. The request is no webhook, or a proxy removed the header. */
  | 'header_missing'
  /** A header of a webhook occurs twice, or has another form. */
  | 'header_malformed'
  /** The webhook was sent more than five minutes ago: it may be a repetition by a third party. Or a clock is wrong. */
  | 'timestamp_too_old'
  /** The webhook was sent more than five minutes in the future. A clock is wrong. */
  | 'timestamp_too_new'
  /** No signature belongs to one of the secrets and this body. Often the body was parsed and written again. */
  | 'signature_mismatch'
  /** The signature is valid, and the body is not the JSON of a webhook. */
  | 'body_malformed';

/** A request is not a webhook of the owner of the secret. The message contains no value of the request. */
export class WebhookVerificationError extends BankingError {
  static override readonly kind: string = 'WebhookVerificationError';

  declare readonly code: WebhookFault;
  readonly reason: WebhookFault;

  constructor(reason: WebhookFault, message: string) {
    super(message, { code: reason });
    this.reason = reason;
  }
}
