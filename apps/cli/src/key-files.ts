import type { KeyObject } from 'node:crypto';
import { open } from 'node:fs/promises';
import { type AnchorSigner, readPublicKey, signerWith } from '@banking/books-proof';
import { Refused } from './refused.js';

/** A key in PEM takes some hundred bytes. */
const MAX_BYTES = 16_384;

/** @throws Refused if the file cannot be read, or contains no Ed25519 public key */
export async function publicKeyOf(file: string): Promise<KeyObject> {
  const { text } = await contentOf(file);
  const key = readPublicKey(text);
  if (!key) throw new Refused(`The file ${file} contains no Ed25519 public key in PEM.`);
  return key;
}

/** @throws Refused if the file cannot be read, is accessible to others, or contains no Ed25519 private key */
export async function signerOf(file: string): Promise<AnchorSigner> {
  const { text, mode } = await contentOf(file);
  if ((mode & 0o077) !== 0) {
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    throw new Refused(
      `The key ${file} is accessible to others than its owner (mode ${octal}). Run chmod 600 on it, or make a new key.`,
    );
  }
  const signer = signerWith(text);
  if (!signer) throw new Refused(`The file ${file} contains no Ed25519 private key in PEM without a passphrase.`);
  return signer;
}

async function contentOf(file: string): Promise<{ readonly text: string; readonly mode: number }> {
  const handle = await open(file).catch((error: Error) => {
    throw new Refused(`The file ${file} cannot be read: ${error.message}.`);
  });
  try {
    const about = await handle.stat();
    if (!about.isFile() || about.size > MAX_BYTES) throw new Refused(`The file ${file} is not a key in PEM.`);
    return { text: await handle.readFile('utf8'), mode: about.mode };
  } finally {
    await handle.close();
  }
}
