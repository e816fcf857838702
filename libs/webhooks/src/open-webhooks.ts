import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createPrivateFile } from '@banking/process';
import { SealError, secretSealer, type SecretSealer } from './secret-sealer.js';
import { type AddressPolicy, networksOf } from './address-policy.js';

/** Where the keys of a deployment are. */
interface SealerSettings {
  /** From WEBHOOK_KEY. */
  readonly keys: readonly Uint8Array[];
  readonly isSandbox: boolean;
  /** Where a sandbox keeps its key if none is configured. */
  readonly dataDir: string;
}

const FILE = 'webhook-key';
const KEY_BYTES = 32;

/**
 * The sealer of a deployment: of the configured keys. A sandbox without any creates a key in its data folder. Undefined for a live
 * deployment without keys, which has no webhooks.
 *
 * @throws SealError if the file of the key cannot be used
 */
export async function openSealer({ keys, isSandbox, dataDir }: SealerSettings): Promise<SecretSealer | undefined> {
  if (keys.length > 0) return secretSealer(keys);
  if (!isSandbox) return undefined;
  const file = join(dataDir, FILE);
  return secretSealer([(await readKey(dataDir, file)) ?? (await createKey(dataDir, file))]);
}

/** Undefined without a file. Only its owner may read it, because who can read it can sign webhooks. */
async function readKey(dataDir: string, file: string): Promise<Uint8Array | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const [key, folder] = [await handle.stat(), await stat(dataDir)];
      const isOurs = key.uid === process.getuid?.() || key.uid === folder.uid;
      const isPrivate = key.isFile() && isOurs && (key.mode & 0o077) === 0;
      const bytes = Buffer.from(isPrivate && key.size <= 64 ? await handle.readFile('utf8') : '', 'base64');
      if (bytes.length === KEY_BYTES) return bytes;
      throw new SealError(`The key of webhooks ${file} is not private, or not a key. Remove it, or set WEBHOOK_KEY.`);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw asSealError(error, `The key of webhooks ${file} cannot be read`);
  }
}

/** Of several processes, the first creates the key, and all use it. */
async function createKey(dataDir: string, file: string): Promise<Uint8Array> {
  const key = randomBytes(KEY_BYTES);
  try {
    await createPrivateFile(dataDir, FILE, key.toString('base64'));
  } catch (error) {
    throw asSealError(error, `The key of webhooks ${file} cannot be written`);
  }
  return (await readKey(dataDir, file)) ?? key;
}

const asSealError = (error: unknown, text: string) =>
  error instanceof SealError
    ? error
    : new SealError(`${text} (${(error as NodeJS.ErrnoException).code}). Set WEBHOOK_KEY.`, { cause: error });

/** What a process needs to make and to deliver webhooks. */
export interface OpenWebhooks {
  readonly sealer: SecretSealer;
  readonly policy: AddressPolicy;
}

/** From the configuration. */
interface WebhookNetworks {
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
