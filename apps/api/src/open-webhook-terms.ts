import { ConfigError } from '@banking/process';
import type { WebhookTerms } from '@banking/operations';
import { networksOf, openSealer, refusedUrl, SealError } from '@banking/webhooks';
import type { ApiConfig } from './config.js';

/**
 * What makes secrets of webhook endpoints and checks their addresses. Undefined for a live deployment without a key.
 *
 * @throws ConfigError if the key of a sandbox cannot be used
 */
export async function openWebhookTerms({
  webhooks,
  sandbox,
  deployment: { dataDir },
}: Pick<ApiConfig, 'webhooks' | 'sandbox' | 'deployment'>): Promise<WebhookTerms | undefined> {
  try {
    const sealer = await openSealer({ keys: webhooks.keys, isSandbox: sandbox, dataDir });
    const policy = { isSandbox: sandbox, allowedNetworks: networksOf(webhooks.allowedNetworks) };
    return sealer && { sealer, refusedUrl: (url) => refusedUrl(url, policy) };
  } catch (error) {
    throw error instanceof SealError ? new ConfigError([error.message]) : error;
  }
}
