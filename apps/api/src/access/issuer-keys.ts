import { isNativeError } from 'node:util/types';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { Refusal } from '@banking/domain';
import { boundedFetch, isTrustworthy } from '@banking/process';
import { keyFetchChannel } from '@banking/telemetry';

/** How long keys are used without another fetch. */
const FRESH_MS = 600_000;
/** No fetch follows another within this time, whatever its result, so that forged key ids cause no load at the issuer. */
const COOLDOWN_MS = 30_000;
/** The same while no keys are known: nothing can be verified before the next fetch. */
const COOLDOWN_WITHOUT_KEYS_MS = 5_000;
/** How long known keys are used while fetches fail. */
const USED_MS = 12 * 3_600_000;

/**
 * Reads the keys of the issuer.
 *
 * @throws Error whose message states the cause and the action, for the log
 */
export type FetchKeys = () => Promise<LocalKeys>;

type LocalKeys = ReturnType<typeof createLocalJWKSet>;

/** A fetch that has failed, with the time for which the known keys are still used; or the first one that has succeeded since. */
export type KeyReport = { readonly why: string; readonly usedForS: number } | { readonly why?: undefined };

/**
 * The keys of an issuer. They are fetched for the first token, when they are old, and for an unknown key id.
 *
 * This replaces `createRemoteJWKSet`, which discards its keys when a fetch fails after ten minutes, and fetches again for each token then.
 */
export class IssuerKeys {
  private known: { readonly keys: LocalKeys; readonly fetchedAtMs: number } | undefined;
  private triedAtMs = -Infinity;
  private isFailing = false;
  private pending: Promise<void> | undefined;

  constructor(
    private readonly fetchKeys: FetchKeys,
    private readonly report: (report: KeyReport) => void,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** @throws Refusal `unavailable` if the key may exist, but cannot be fetched */
  readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    // While the issuer fails, tokens of known keys do not wait for it.
    if (this.isFailing && this.usable() !== undefined) void this.refresh();
    else if (this.ageMs() >= FRESH_MS) await this.refresh();
    try {
      return await this.current()(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.refresh();
      try {
        return await this.current()(header, token);
      } catch (again) {
        throw this.isFailing && again instanceof errors.JWKSNoMatchingKey ? unavailable() : again;
      }
    }
  };

  private current(): LocalKeys {
    const keys = this.usable();
    if (keys === undefined) throw unavailable();
    return keys;
  }

  private usable(): LocalKeys | undefined {
    return this.ageMs() < USED_MS ? this.known?.keys : undefined;
  }

  private ageMs(): number {
    return this.known === undefined ? Infinity : this.nowMs() - this.known.fetchedAtMs;
  }

  /** Fetches the keys, unless that was tried a moment ago. Concurrent calls share one fetch, and a failure is reported and not thrown. */
  private refresh(): Promise<void> {
    const cooldownMs = this.usable() === undefined ? COOLDOWN_WITHOUT_KEYS_MS : COOLDOWN_MS;
    if (this.pending === undefined && this.nowMs() - this.triedAtMs < cooldownMs) return Promise.resolve();
    this.pending ??= this.tryFetch().finally(() => {
      this.triedAtMs = this.nowMs();
      this.pending = undefined;
    });
    return this.pending;
  }

  private async tryFetch(): Promise<void> {
    const startedMs = this.nowMs();
    try {
      this.known = { keys: await this.fetchKeys(), fetchedAtMs: startedMs };
      if (this.isFailing) this.report({});
      this.isFailing = false;
    } catch (error) {
      this.isFailing = true;
      const usedForS = Math.max(0, Math.round((USED_MS - this.ageMs()) / 1000));
      this.report({ why: (error as Error).message, usedForS });
    }
    if (keyFetchChannel.hasSubscribers) keyFetchChannel.publish({ isFailing: this.isFailing });
  }
}

/** The caller may retry. The cause is reported once for each fetch. */
function unavailable(): Refusal {
  return new Refusal('unavailable', 'The identity provider cannot be reached.', { retryAfterSeconds: 5 });
}

const TIMEOUT_MS = 5_000;
const DOCUMENT_BYTES_MAX = 65_536;
const KEY_SET_BYTES_MAX = 1_048_576;

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

/**
 * Reads the keys of an OpenID provider, whose URL its discovery document has (OpenID Connect Discovery 1.0, section 4).
 * Each fetch reads the document, because the provider may move its keys.
 */
export function discoverKeysOf(issuer: string): FetchKeys {
  return async () => fetchKeysOf(issuer, await readKeysUrl(issuer))();
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
