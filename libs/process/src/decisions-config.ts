import type { EnvironmentReader } from './environment-reader.js';
import { isTrustworthy } from './password-file.js';

/** The hook that decides payouts before they are submitted. */
export interface DecisionsConfig {
  readonly url: string;
  /** One secret, or several during a rotation: each signs. `whsec_` and 24 to 64 bytes in base64. */
  readonly secrets: readonly string[];
}

/** Reads `DECISION_URL` and `DECISION_SECRET`, or the file that `DECISION_SECRET_FILE` names. A mistake never repeats a secret. */
export function readDecisions({ text, given, url, mistakes }: EnvironmentReader): DecisionsConfig | undefined {
  const address = url('DECISION_URL', ['https:', 'http:']);
  const secrets = (text('DECISION_SECRET') ?? '').split(',').flatMap((secret) => secret.trim() || []);
  if (address === undefined) {
    const isUnused = given('DECISION_URL') === undefined && given('DECISION_SECRET') !== undefined;
    if (isUnused) mistakes.push('DECISION_SECRET is set without DECISION_URL. Set both, or neither.');
    return undefined;
  }
  if (!isTrustworthy(address)) {
    mistakes.push(
      'DECISION_URL must begin with https:// (http only on a loopback address), because over http an answer could be changed.',
    );
  }
  if (new URL(address).username !== '' || new URL(address).password !== '' || address.includes('#')) {
    mistakes.push(
      'DECISION_URL has a login or a fragment. Remove it: the hook recognizes requests by their signature.',
    );
  }
  if (secrets.length === 0 || !secrets.every(isSecret)) {
    mistakes.push(
      'DECISION_SECRET is not a secret, or several separated by commas: whsec_ and 24 to 64 bytes in base64. ' +
        'Make one: echo "whsec_$(openssl rand -base64 32)".',
    );
  }
  return { url: address, secrets };
}

function isSecret(secret: string): boolean {
  const [, base64 = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === base64;
}
