import { randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;

/** A new secret of an endpoint. */
export interface NewSecret {
  /** What is sealed. */
  readonly plain: Uint8Array;
  /** For the caller. */
  readonly secret: string;
}

export function newSecret(): NewSecret {
  const plain = randomBytes(SECRET_BYTES);
  return { plain, secret: `whsec_${plain.toString('base64')}` };
}
