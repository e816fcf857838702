import { ConfigError } from '@banking/process';
import type { WebhookTerms } from '@banking/operations';
import { type OpenWebhooks, openWebhooks, refusedUrl, SealError } from '@banking/webhooks';
import type { ApiConfig } from './config.js';

/**
 * What makes secrets of webhook endpoints, checks their addresses and delivers to them. Undefined for a live deployment without a key.
 *
 * @throws ConfigError if the key of a sandbox cannot be used
 */
export async function openWebhookTerms({
  webhooks,
  sandbox,
  deployment: { dataDir },
}: Pick<ApiConfig, 'webhooks' | 'sandbox' | 'deployment'>): Promise<(WebhookTerms & OpenWebhooks) | undefined> {
  try {
    const opened = await openWebhooks({ ...webhooks, isSandbox: sandbox, dataDir });
    return opened && { ...opened, refusedUrl: (url) => refusedUrl(url, opened.policy) };
  } catch (error) {
    throw error instanceof SealError ? new ConfigError([error.message]) : error;
  }
}
