import { Refusal } from '@banking/domain';

/** Encrypts the secret of an endpoint for the database. */
interface SecretSealer {
  seal(plain: Uint8Array, context: { readonly workspaceId: number; readonly endpointId: number }): Uint8Array;
}

/** What a deployment needs for webhook endpoints. */
export interface WebhookTerms {
  readonly sealer: SecretSealer;
  /** Why nothing is delivered to an address; undefined if it is allowed. */
  readonly refusedUrl: (url: string) => string | undefined;
}

/** @throws Refusal `webhooks_unavailable` if the deployment has no key */
export function requireTerms(terms: WebhookTerms | undefined): WebhookTerms {
  if (terms === undefined) throw new Refusal('webhooks_unavailable');
  return terms;
}

/** The rule that an address breaks, by the reason of the policy. */
const RULES: Readonly<Record<string, string>> = {
  not_https: 'url must begin with https://.',
  has_credentials: 'url must have no user name and no password.',
  has_fragment: 'url must have no fragment.',
  address_refused: 'url must not name a private address.',
};

/** @throws Refusal `webhook_url_refused` */
export function checkUrl({ refusedUrl }: WebhookTerms, url: string): void {
  const refused = refusedUrl(url);
  if (refused === undefined) return;
  const message = RULES[refused] ?? 'url must be an absolute URL of at most 2048 characters.';
  throw new Refusal('webhook_url_refused', message, {
    details: [{ path: '/url', reason: 'webhook_url_refused', message }],
  });
}
