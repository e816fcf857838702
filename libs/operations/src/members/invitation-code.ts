import { createHash, randomBytes } from 'node:crypto';

const CODE_BYTES = 32;

/** The code of an invitation: `inv_`, and 256 random bits in base64url. */
export const newCode = (): string => `inv_${randomBytes(CODE_BYTES).toString('base64url')}`;

/** What is stored of a code. It is random, so a plain hash does. */
export const hashOfCode = (code: string): Buffer => createHash('sha256').update(code).digest();
