import { isIP } from 'node:net';
import type { EnvironmentReader } from './environment-reader.js';
import { isLoopback } from './password-file.js';

/** The keys that encrypt the secrets of webhook endpoints, and the networks that may receive webhooks. */
export interface WebhooksConfig {
  /** Of 32 bytes each; the first encrypts. Empty if none is configured. */
  readonly keys: readonly Uint8Array[];
  /** Private networks that may receive webhooks, such as `10.1.0.0/16`. */
  readonly allowedNetworks: readonly string[];
  /** Networks that receive no webhooks, also public ones. */
  readonly refusedNetworks: readonly string[];
  /** Whether the service listens on a loopback address. Only then, a sandbox delivers to loopback addresses. */
  readonly isLocal: boolean;
}

const KEY_BYTES = 32;
const BITS = { 4: 32, 6: 128 } as const;

/** Reads `WEBHOOK_KEY`, or the file that `WEBHOOK_KEY_FILE` names, the networks, and `HOST`. A mistake never repeats a key. */
export function readWebhooks({ text, mistakes }: EnvironmentReader): WebhooksConfig {
  const keys = listOf(text('WEBHOOK_KEY')).map((key) => Buffer.from(key, 'base64'));
  const isEncoded = listOf(text('WEBHOOK_KEY')).every((key) => /^[A-Za-z0-9+/_-]{43}=?$/.test(key));
  if (!isEncoded || keys.some(({ length }) => length !== KEY_BYTES)) {
    mistakes.push(
      `WEBHOOK_KEY is not a list of keys of ${KEY_BYTES} bytes in base64, separated by commas. Make one: openssl rand -base64 32.`,
    );
  }
  const networks = (name: string) => {
    const listed = listOf(text(name));
    for (const network of listed) {
      if (isNetwork(network)) continue;
      mistakes.push(`${name} has "${network}". Set networks such as 10.1.0.0/16, separated by commas.`);
    }
    return listed;
  };
  const allowedNetworks = networks('WEBHOOK_ALLOWED_NETWORKS');
  const refusedNetworks = networks('WEBHOOK_REFUSED_NETWORKS');
  return { keys, allowedNetworks, refusedNetworks, isLocal: isLoopback(text('HOST') ?? '127.0.0.1') };
}

const listOf = (text = '') => text.split(',').flatMap((part) => part.trim() || []);

function isNetwork(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const family = isIP(address);
  if ((family !== 4 && family !== 6) || address.includes('%') || rest.length > 0) return false;
  return /^[0-9]{1,3}$/.test(prefix) && Number(prefix) <= BITS[family];
}
