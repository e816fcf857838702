import { type AddressPolicy, networksOf } from './address-policy.js';
import { openSealer, type SealerSettings } from './open-sealer.js';
import type { SecretSealer } from './secret-sealer.js';

/** What a process needs to make and to deliver webhooks. */
export interface OpenWebhooks {
  readonly sealer: SecretSealer;
  readonly policy: AddressPolicy;
}

/**
 * Opens the sealer of a deployment. Undefined for a live deployment without a key, which has no webhooks.
 *
 * @throws SealError if the key of a sandbox cannot be used
 */
export async function openWebhooks({
  allowedNetworks,
  ...settings
}: SealerSettings & { readonly allowedNetworks: readonly string[] }): Promise<OpenWebhooks | undefined> {
  const sealer = await openSealer(settings);
  return sealer && { sealer, policy: { isSandbox: settings.isSandbox, allowedNetworks: networksOf(allowedNetworks) } };
}
