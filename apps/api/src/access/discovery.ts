import { isNativeError } from 'node:util/types';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { boundedFetch, isTrustworthy } from '@banking/process';
import type { FetchKeys } from './issuer-keys.js';

const TIMEOUT_MS = 5_000;
const DOCUMENT_BYTES_MAX = 65_536;
const KEY_SET_BYTES_MAX = 1_048_576;

/** Reads the keys that a URL serves as a JSON Web Key Set. */
export function fetchKeysOf(issuer: string, url: string): FetchKeys {
  return async () => {
    try {
      return createLocalJWKSet((await readJson(url, KEY_SET_BYTES_MAX)) as JSONWebKeySet);
    } catch (error) {
      throw new Error(
        `the keys of ${issuer} cannot be fetched: ${innermost(error as Error).message}. ` +
          'Check JWKS_URL, or jwks_uri in its discovery document, and the network, or set JWKS_FILE',
        { cause: error },
      );
    }
  };
}

/** Reads the keys of an OpenID provider, whose URL its discovery document has (OpenID Connect Discovery 1.0, section 4). */
export function discoverKeysOf(issuer: string): FetchKeys {
  let fetchKeys: FetchKeys | undefined;
  return async () => {
    fetchKeys ??= fetchKeysOf(issuer, await readKeysUrl(issuer));
    return fetchKeys();
  };
}

async function readKeysUrl(issuer: string): Promise<string> {
  try {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const document = (await readJson(url, DOCUMENT_BYTES_MAX)) as { issuer?: unknown; jwks_uri?: unknown };
    if (document.issuer !== issuer) throw new Error(`its issuer is ${String(document.issuer)}`);
    const keysUrl = String(document.jwks_uri);
    if (!isTrustworthy(keysUrl)) throw new Error('its jwks_uri is no https URL');
    return keysUrl;
  } catch (error) {
    throw new Error(
      `the discovery document of ${issuer} cannot be read: ${innermost(error as Error).message}. ` +
        'Check OIDC_ISSUER and the network, or set JWKS_URL or JWKS_FILE',
      { cause: error },
    );
  }
}

async function readJson(url: string, bytesMax: number): Promise<unknown> {
  const response = await boundedFetch(url, { bytesMax, timeoutMs: TIMEOUT_MS });
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return response.json();
}

/** The error of `fetch` has the reason in its cause. */
function innermost(error: Error): Error {
  return isNativeError(error.cause) ? innermost(error.cause) : error;
}
