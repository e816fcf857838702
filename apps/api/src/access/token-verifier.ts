import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, errors, jwtVerify, type JSONWebKeySet, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { foldEmail, type Origin, Refusal, type Subject } from '@banking/domain';
import { LOCAL_ISSUER, LocalIssuer } from '@banking/local-issuer';
import { ConfigError, ExpiringCache, ResponseTooLargeError } from '@banking/process';
import type { TokenConfig } from '../config.js';
import { type CredentialFault, faultOfVerification } from './credential-fault.js';
import { discoverKeySet, keysUnreachable, remoteKeySet } from './discovery.js';

/** Asymmetric algorithms only: a shared secret would let a verifier sign tokens. */
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
const VERIFIED_TTL_MS = 60_000;
const VERIFIED_MAX = 10_000;

/** Why a credential was refused. The message goes to the log only. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';

  constructor(
    message: string,
    readonly fault: CredentialFault,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What a token says of itself, for the audit trail. */
export type TokenOrigin = Pick<Origin, 'issuer' | 'subject' | 'tokenId' | 'clientId'>;

interface Verified {
  readonly subject: Subject;
  readonly origin: TokenOrigin;
  readonly expiresAtMs: number;
}

/** Which tokens are accepted, and the folder of the local signing key. */
interface TokenSource {
  readonly tokens: TokenConfig;
  readonly dataDir: string;
}

/** Verifies bearer tokens: signature, issuer, audience, type and times, with the keys of the one configured issuer. */
export class TokenVerifier {
  private readonly verified = new ExpiringCache<Verified>({
    ttlMs: ({ expiresAtMs }) => Math.min(VERIFIED_TTL_MS, expiresAtMs - Date.now()),
    entriesMax: VERIFIED_MAX,
  });

  private constructor(
    private readonly issuer: string,
    private readonly config: TokenConfig,
    private readonly keys: JWTVerifyGetKey,
  ) {}

  /** @throws ConfigError, LocalIssuerError if keys on this machine cannot be read */
  static async open({ tokens, dataDir }: TokenSource): Promise<TokenVerifier> {
    const { source } = tokens;
    switch (source.kind) {
      case 'local':
        return new TokenVerifier(LOCAL_ISSUER, tokens, createLocalJWKSet((await LocalIssuer.open(dataDir)).keySet));
      case 'discovery':
        return new TokenVerifier(source.issuer, tokens, discoverKeySet(source.issuer));
      case 'jwks-url':
        return new TokenVerifier(source.issuer, tokens, remoteKeySet(new URL(source.url)));
      case 'jwks-file':
        return new TokenVerifier(source.issuer, tokens, createLocalJWKSet(await readKeySet(source.file)));
    }
  }

  /**
   * @throws CredentialError if the token is invalid
   * @throws Refusal `unavailable` if the issuer's keys cannot be fetched
   */
  async subjectOf(token: string): Promise<Subject> {
    const { subject } = await this.verified.get(keyOf(token), () => this.verify(token));
    return subject;
  }

  /** The subject of a token that was verified within the last minute and has not expired since. Undefined if it must be verified. */
  verifiedSubject(token: string): Subject | undefined {
    return this.verified.peek(keyOf(token))?.subject;
  }

  /** What a token that was just verified says of itself. */
  originOf(token: string): TokenOrigin | undefined {
    return this.verified.peek(keyOf(token))?.origin;
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
    } catch (caught) {
      const error = caught as Error;
      if (error instanceof CredentialError || error instanceof Refusal) throw error;
      if (isUnreachable(error)) throw keysUnreachable(this.issuer, error);
      throw new CredentialError(error.message, faultOfVerification(error), { cause: error });
    }
  }

  private accepted(payload: JWTPayload): Verified {
    const { sub, exp, jti, email, email_verified: verified } = payload;
    if (typeof sub !== 'string' || sub === '') throw new CredentialError('the subject is empty', 'claim');
    if (!Number.isSafeInteger(exp)) throw new CredentialError('"exp" is not a whole number of seconds', 'claim');
    const verifiedEmail = typeof email === 'string' && verified === true ? foldEmail(email) : undefined;
    const { issuer } = this;
    return {
      subject: { issuer, subject: sub, email: verifiedEmail },
      origin: { issuer, subject: sub, tokenId: textOf(jti), clientId: textOf(payload['client_id'] ?? payload['azp']) },
      expiresAtMs: Number(exp) * 1000,
    };
  }
}

const textOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined);

/** Tokens are not kept in memory. */
const keyOf = (token: string) => hash('sha256', token);

/** Whether the keys could not be fetched. The token may then be valid. */
function isUnreachable(error: Error): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true;
  if (error instanceof ResponseTooLargeError) return true;
  if (error instanceof errors.JOSEError) return error.code === 'ERR_JOSE_GENERIC';
  return error.message === 'fetch failed';
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
