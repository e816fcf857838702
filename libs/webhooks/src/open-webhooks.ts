import { type AddressPolicy, networksOf } from './address-policy.js';
import { openSealer, type SealerSettings } from './open-sealer.js';
import type { SecretSealer } from './secret-sealer.js';

/** What a process needs to make and to deliver webhooks. */
export interface OpenWebhooks {
  readonly sealer: SecretSealer;
  readonly policy: AddressPolicy;
}

/** From the configuration. */
export interface WebhookNetworks {
  readonly allowedNetworks: readonly string[];
  readonly refusedNetworks: readonly string[];
  /** Whether only this machine reaches the service. */
  readonly isLocal: boolean;
}

/**
 * Opens the sealer of a deployment. Undefined for a live deployment without a key, which has no webhooks.
 *
 * @throws SealError if the key of a sandbox cannot be used
 */
export async function openWebhooks({
  allowedNetworks,
  refusedNetworks,
  isLocal,
  ...settings
}: SealerSettings & WebhookNetworks): Promise<OpenWebhooks | undefined> {
  const sealer = await openSealer(settings);
  const allowsLoopback = settings.isSandbox && isLocal;
  const networks = { allowedNetworks: networksOf(allowedNetworks), refusedNetworks: networksOf(refusedNetworks) };
  return sealer && { sealer, policy: { allowsLoopback, ...networks } };
}
