import { isNativeError } from 'node:util/types';
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey, type RemoteJWKSetOptions } from 'jose';
import { Refusal } from '@banking/domain';
import { boundedFetch, ExpiringCache, isTrustworthy } from '@banking/process';

const TIMEOUT_MS = 5_000;
const DOCUMENT_BYTES_MAX = 65_536;
const KEY_SET_BYTES_MAX = 1_048_576;
/** How long a failed discovery is not repeated. */
const FAILURE_TTL_MS = 5_000;

/** A token with an unknown key id causes at most one request within `cooldownDuration`. */
const KEY_SET_OPTIONS: RemoteJWKSetOptions = {
  cooldownDuration: 30_000,
  cacheMaxAge: 600_000,
  timeoutDuration: TIMEOUT_MS,
  [customFetch]: (url, init) => boundedFetch(url, { bytesMax: KEY_SET_BYTES_MAX, timeoutMs: TIMEOUT_MS }, init),
};

/** The keys that a URL serves as a JSON Web Key Set. */
export function remoteKeySet(url: URL): JWTVerifyGetKey {
  return createRemoteJWKSet(url, KEY_SET_OPTIONS);
}

/**
 * The keys of an OpenID provider, found through its discovery document (OpenID Connect Discovery 1.0, section 4).
 *
 * The document is read when the first token arrives. A failure is cached, so an unreachable provider does not get a request for each token.
 */
export function discoverKeySet(issuer: string): JWTVerifyGetKey {
  const keySets = new ExpiringCache<JWTVerifyGetKey>({ entriesMax: 1, ttlMs: Infinity, failureTtlMs: FAILURE_TTL_MS });
  return async (header, token) => {
    const keySet = await keySets.get(issuer, async () => remoteKeySet(await readKeysUrl(issuer)));
    return keySet(header, token);
  };
}

async function readKeysUrl(issuer: string): Promise<URL> {
  try {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const response = await boundedFetch(url, { bytesMax: DOCUMENT_BYTES_MAX, timeoutMs: TIMEOUT_MS });
    if (response.status !== 200) throw new Error(`status ${response.status}`);
    const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
    if (document.issuer !== issuer) throw new Error(`its issuer is ${String(document.issuer)}`);
    const keysUrl = String(document.jwks_uri);
    if (!isTrustworthy(keysUrl)) throw new Error('its jwks_uri is no https URL');
    return new URL(keysUrl);
  } catch (error) {
    throw unreachable(issuer, error as Error);
  }
}

function unreachable(issuer: string, cause: Error): Refusal {
  const advice = 'Check OIDC_ISSUER and the network, or set JWKS_URL or JWKS_FILE';
  return noKeys(`the discovery document of ${issuer} cannot be read: ${innermost(cause).message}. ${advice}`, cause);
}

/** The refusal of a credential if the keys cannot be fetched from their URL. */
export function keysUnreachable(issuer: string, cause: Error): Refusal {
  const advice = 'Check JWKS_URL, or jwks_uri in its discovery document, and the network, or set JWKS_FILE';
  return noKeys(`the keys of ${issuer} cannot be fetched: ${innermost(cause).message}. ${advice}`, cause);
}

/** The caller may retry. The cause and the action go to the log. */
function noKeys(why: string, cause: Error): Refusal {
  return new Refusal('unavailable', 'The identity provider cannot be reached.', {
    retryAfterSeconds: 5,
    cause: new Error(why, { cause }),
  });
}

/** The error of `fetch` has the reason in its cause. */
function innermost(error: Error): Error {
  return isNativeError(error.cause) ? innermost(error.cause) : error;
}
