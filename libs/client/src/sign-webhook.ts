import { base64Of, VERSION, webhookKeys } from './webhook-keys.js';
import { signedContent, WEBHOOK_ID } from './webhook-message.js';

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
