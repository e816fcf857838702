import { isNativeError } from 'node:util/types';
import { createRemoteJWKSet, type JWTVerifyGetKey } from 'jose';
import { Refusal } from '@banking/domain';
import { isTrustworthy } from '@banking/process';

/** An unknown key id asks the provider at most once in this time, however many tokens name one. */
export const KEY_SET_OPTIONS = { cooldownDuration: 30_000, cacheMaxAge: 600_000, timeoutDuration: 5_000 };

const RETRY_AFTER_MS = 5_000;
const TIMEOUT_MS = 5_000;
const DOCUMENT_BYTES_MAX = 65_536;

/**
 * The keys of an OpenID provider, found through its discovery document (OpenID Connect Discovery 1.0, section 4).
 *
 * Asked on first need and once for all who wait; a failure is remembered for five seconds, so that a provider that is away is
 * not asked for every request.
 */
export function discoverKeySet(issuer: string): JWTVerifyGetKey {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  let failedAtMs = -Infinity;
  return async (header, token) => {
    if (keys === undefined) {
      if (Date.now() - failedAtMs < RETRY_AFTER_MS) throw unreachable(issuer);
      keys = readKeysUrl(issuer).then((url) => createRemoteJWKSet(url, KEY_SET_OPTIONS));
      keys.catch(() => {
        keys = undefined;
        failedAtMs = Date.now();
      });
    }
    return (await keys)(header, token);
  };
}

async function readKeysUrl(issuer: string): Promise<URL> {
  try {
    const response = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.status !== 200) throw new Error(`answered ${response.status}`);
    const document = JSON.parse(await readBounded(response)) as { issuer?: unknown; jwks_uri?: unknown };
    if (document.issuer !== issuer) throw new Error(`calls itself ${String(document.issuer)}`);
    const keysUrl = String(document.jwks_uri);
    if (!isTrustworthy(keysUrl)) throw new Error('has its keys at no https URL');
    return new URL(keysUrl);
  } catch (error) {
    throw unreachable(issuer, error);
  }
}

async function readBounded(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > DOCUMENT_BYTES_MAX) throw new Error('answers without end');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function unreachable(issuer: string, cause?: unknown): Refusal {
  const advice = 'Check OIDC_ISSUER and the way there, or name the keys by JWKS_URL or JWKS_FILE';
  return noKeys(`${issuer} does not answer as an OpenID provider${because(cause)}. ${advice}`, cause);
}

/** The refusal of a credential whose keys could not be fetched once the issuer had said where they are, or the operator. */
export function keysUnreachable(issuer: string, cause: unknown): Refusal {
  const advice = 'Check JWKS_URL, or jwks_uri in its discovery document, and the way there, or set JWKS_FILE';
  return noKeys(`the keys of ${issuer} cannot be fetched${because(cause)}. ${advice}`, cause);
}

/** The caller is told to come again; why, and what to do, is for the log. */
function noKeys(why: string, cause: unknown): Refusal {
  return new Refusal('unavailable', 'The identity provider cannot be reached.', {
    retryAfterSeconds: 5,
    cause: new Error(why, { cause }),
  });
}

function because(cause: unknown): string {
  return isNativeError(cause) ? `: ${innermost(cause).message}` : '';
}

/** `fetch` says that it failed; why stands in the cause of the cause. */
function innermost(error: Error): Error {
  return isNativeError(error.cause) ? innermost(error.cause) : error;
}
