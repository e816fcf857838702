import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isNativeError } from 'node:util/types';
import { createLocalJWKSet, createRemoteJWKSet, errors, jwtVerify, type JSONWebKeySet, type JWTPayload, type JWTVerifyGetKey } from 'jose'; // prettier-ignore
import { foldEmail, Refusal, type Subject } from '@banking/domain';
import { LOCAL_ISSUER, LocalIssuer } from '@banking/local-issuer';
import { ConfigError } from '@banking/process';
import type { TokenConfig } from '../config.js';
import { discoverKeySet, KEY_SET_OPTIONS, keysUnreachable } from './discovery.js';
import { Remember } from './remember.js';

/** Asymmetric only: a secret that both sides know could sign for anyone. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

const CLOCK_TOLERANCE_S = 30;
const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 10_000;

/** Why a credential was not accepted, for the log and nobody else. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
}

interface Verified {
  readonly subject: Subject;
  readonly expiresAtMs: number;
}

/** Which tokens are accepted, and the folder of the local signing key. */
interface TokenSource {
  readonly tokens: TokenConfig;
  readonly dataDir: string;
}

/** Proves bearer tokens: signature, issuer, audience, type and times, against the keys of the one configured issuer. */
export class TokenVerifier {
  private readonly verified = new Remember<Verified>(REMEMBERED_MS, REMEMBERED_MAX);

  private constructor(
    private readonly issuer: string,
    private readonly config: TokenConfig,
    private readonly keys: JWTVerifyGetKey,
  ) {}

  /** @throws ConfigError, LocalIssuerError when keys that lie on this machine cannot be read */
  static async open({ tokens, dataDir }: TokenSource): Promise<TokenVerifier> {
    const { source } = tokens;
    switch (source.kind) {
      case 'local':
        return new TokenVerifier(LOCAL_ISSUER, tokens, createLocalJWKSet((await LocalIssuer.open(dataDir)).keySet));
      case 'discovery':
        return new TokenVerifier(source.issuer, tokens, discoverKeySet(source.issuer));
      case 'jwks-url':
        return new TokenVerifier(source.issuer, tokens, createRemoteJWKSet(new URL(source.url), KEY_SET_OPTIONS));
      case 'jwks-file':
        return new TokenVerifier(source.issuer, tokens, createLocalJWKSet(await readKeySet(source.file)));
    }
  }

  /**
   * @throws CredentialError when the token does not prove anybody
   * @throws Refusal `unavailable` when the issuer's keys cannot be fetched
   */
  async subjectOf(token: string): Promise<Subject> {
    const { subject } = await this.verified.get(
      hash('sha256', token, 'base64'),
      () => this.verify(token),
      ({ expiresAtMs }) => expiresAtMs,
    );
    return subject;
  }

  private async verify(token: string): Promise<Verified> {
    try {
      const { payload } = await jwtVerify(token, this.keys, {
        algorithms: ALGORITHMS,
        issuer: this.issuer,
        audience: this.config.audience,
        typ: this.config.type,
        requiredClaims: ['exp', 'iat', 'sub'],
        clockTolerance: CLOCK_TOLERANCE_S,
        maxTokenAge: '24h',
      });
      return this.accepted(payload);
    } catch (error) {
      if (error instanceof CredentialError || error instanceof Refusal) throw error;
      if (isUnreachable(error)) throw keysUnreachable(this.issuer, error);
      throw new CredentialError((error as Error).message, { cause: error });
    }
  }

  private accepted({ sub, exp, email, email_verified: verified }: JWTPayload): Verified {
    if (typeof sub !== 'string' || sub === '') throw new CredentialError('the subject is empty');
    if (!Number.isSafeInteger(exp)) throw new CredentialError('"exp" is not a whole number of seconds');
    const known = typeof email === 'string' && verified === true ? foldEmail(email) : undefined;
    return { subject: { issuer: this.issuer, subject: sub, email: known }, expiresAtMs: Number(exp) * 1000 };
  }
}

/** Whether the keys could not be had, which says nothing about the token. */
function isUnreachable(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true;
  if (error instanceof errors.JOSEError) return error.code === 'ERR_JOSE_GENERIC';
  return isNativeError(error) && error.name === 'TypeError' && error.message === 'fetch failed';
}

async function readKeySet(file: string): Promise<JSONWebKeySet> {
  try {
    const keySet = JSON.parse(await readFile(file, 'utf8')) as JSONWebKeySet;
    if (!Array.isArray(keySet?.keys) || keySet.keys.length === 0) throw new Error('it has no "keys"');
    return keySet;
  } catch (error) {
    throw new ConfigError([`JWKS_FILE ${file} cannot be read as a JSON Web Key Set: ${(error as Error).message}.`]);
  }
}
