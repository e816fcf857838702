import type { EnvironmentReader } from './environment-reader.js';
import { isTrustworthy } from './trustworthy-url.js';

/** The identity provider, exactly as written, because tokens repeat it letter by letter. Without one, tokens are signed locally. */
export function readIssuer({ text, mistakes }: EnvironmentReader): string | undefined {
  const issuer = text('OIDC_ISSUER');
  if (issuer !== undefined && !isTrustworthy(issuer)) {
    mistakes.push('OIDC_ISSUER must be the https URL of the identity provider (http only on a loopback address).');
  }
  return issuer;
}
