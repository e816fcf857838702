import { hash } from 'node:crypto';
import {
  createLocalJWKSet,
  decodeJwt,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from 'jose';
import {
  foldEmail,
  hasForbiddenCharacter,
  isOperationScope,
  type OperationScope,
  type Origin,
  Refusal,
  type Subject,
} from '@banking/domain';
import { LOCAL_ISSUER, LocalIssuer } from '@banking/process/local-issuer';
import { ConfigError, ExpiringCache, readDocument, SecretFileError } from '@banking/process';
import type { SignIn } from './step-up.js';
import type { TokenConfig } from './token-config.js';
import { discoverKeysOf, type FetchKeys, fetchKeysOf, IssuerKeys, type KeyReport } from './issuer-keys.js';

/** Why a credential was refused, for the log and for metrics. Messages of the library quote the token, so none is used. */
export type CredentialFault =
  | 'missing'
  | 'repeated'
  | 'malformed'
  | 'signature'
  | 'algorithm'
  | 'unknown_key'
  | 'unsupported'
  | 'issuer'
  | 'audience'
  | 'type'
  | 'expired'
  | 'not_yet_valid'
  | 'sub'
  | 'iat'
  | 'exp'
  | 'no_access_token'
  | 'proof_required'
  | 'network'
  | 'unknown_user'
  | 'unverifiable';

const BY_CODE: Readonly<Record<string, CredentialFault>> = {
  ERR_JWS_INVALID: 'malformed',
  ERR_JWT_INVALID: 'malformed',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm',
  ERR_JOSE_NOT_SUPPORTED: 'unsupported',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown_key',
  ERR_JWT_EXPIRED: 'expired',
};

const BY_CLAIM: Readonly<Record<string, CredentialFault>> = {
  iss: 'issuer',
  aud: 'audience',
  typ: 'type',
  nbf: 'not_yet_valid',
  sub: 'sub',
  iat: 'iat',
  exp: 'exp',
};

function faultOfVerification(error: Error): CredentialFault {
  const known = error instanceof errors.JWTClaimValidationFailed ? BY_CLAIM[error.claim] : undefined;
  return known ?? (error instanceof errors.JOSEError ? BY_CODE[error.code] : undefined) ?? 'unverifiable';
}

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

/** Claims that only tokens of other kinds have: ID tokens, and logout tokens and other security events (RFC 8417). */
const OF_OTHER_KINDS = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'];
/** Claims by which some providers name the kind of a token, with the kind of an access token in lower case. */
const KIND: Readonly<Record<string, string>> = { typ: 'bearer', token_use: 'access' };

/** A credential that is refused. The caller does not learn why. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';

  constructor(
    readonly fault: CredentialFault,
    options?: ErrorOptions,
  ) {
    super(fault, options);
  }
}

/** What a token says of itself, for the audit trail. */
export type TokenOrigin = Pick<Origin, 'issuer' | 'subject' | 'tokenId' | 'clientId'>;

/** A subject with what its token says of scopes and of the sign-in. */
export interface TokenSubject extends Subject, SignIn {
  /** What the token allows of what its user may do. Undefined for everything. */
  readonly scopes?: readonly OperationScope[] | undefined;
}

interface Verified {
  readonly subject: TokenSubject;
  readonly origin: TokenOrigin;
  readonly expiresAtMs: number;
}

interface TokenSource {
  readonly tokens: readonly TokenConfig[];
  /** Whether a token must have scopes. Default: one without scopes of this service allows everything. */
  readonly requiresScopes?: boolean;
  readonly dataDir: string;
  readonly report?: (report: KeyReport) => void;
}

/** An issuer with its keys. */
interface TrustedIssuer {
  readonly issuer: string;
  readonly config: TokenConfig;
  readonly keys: JWTVerifyGetKey;
}

/** Verifies bearer tokens: signature, issuer, audience, type and times, with the keys of the configured issuer that the token names. */
export class TokenVerifier {
  private readonly verified = new ExpiringCache<Verified>({
    ttlMs: ({ expiresAtMs }) => Math.min(VERIFIED_TTL_MS, expiresAtMs - Date.now()),
    entriesMax: VERIFIED_MAX,
  });

  private constructor(
    private readonly issuers: readonly TrustedIssuer[],
    private readonly requiresScopes: boolean,
  ) {}

  /** @throws ConfigError, LocalIssuerError if keys on this machine cannot be read */
  static async open({
    tokens,
    requiresScopes = false,
    dataDir,
    report = () => undefined,
  }: TokenSource): Promise<TokenVerifier> {
    const issuers = tokens.map(async (config): Promise<TrustedIssuer> => ({
      issuer: config.source.kind === 'local' ? LOCAL_ISSUER : config.source.issuer,
      config,
      keys: await keysOf(config, dataDir, report),
    }));
    return new TokenVerifier(await Promise.all(issuers), requiresScopes);
  }

  /**
   * @throws CredentialError if the token is invalid
   * @throws Refusal `unavailable` if the issuer's keys cannot be fetched
   */
  async subjectOf(token: string): Promise<TokenSubject> {
    const { subject } = await this.verified.get(keyOf(token), () => this.verify(token));
    return subject;
  }

  /** The subject of a token that was verified within the last minute and has not expired since. Undefined if it must be verified. */
  verifiedSubject(token: string): TokenSubject | undefined {
    return this.verified.peek(keyOf(token))?.subject;
  }

  originOf(token: string): TokenOrigin | undefined {
    return this.verified.peek(keyOf(token))?.origin;
  }

  private async verify(token: string): Promise<Verified> {
    try {
      const trusted = this.issuerOf(token);
      const { payload } = await jwtVerify(token, trusted.keys, {
        algorithms: ALGORITHMS,
        issuer: trusted.issuer,
        audience: trusted.config.audience,
        typ: trusted.config.type,
        requiredClaims: ['exp', 'iat', 'sub'],
        clockTolerance: CLOCK_TOLERANCE_S,
        maxTokenAge: '24h',
      });
      return this.accepted(payload, trusted);
    } catch (caught) {
      const error = caught as Error;
      if (error instanceof CredentialError || error instanceof Refusal) throw error;
      throw new CredentialError(faultOfVerification(error), { cause: error });
    }
  }

  /** The issuer that a token names, unverified: its keys decide. @throws CredentialError for an issuer that is not configured */
  private issuerOf(token: string): TrustedIssuer {
    const [first] = this.issuers;
    if (first !== undefined && this.issuers.length === 1) return first;
    const { iss } = decodeJwt(token);
    const named = this.issuers.find(({ issuer }) => issuer === iss);
    if (named === undefined) throw new CredentialError('issuer');
    return named;
  }

  private accepted(payload: JWTPayload, { issuer, config }: TrustedIssuer): Verified {
    const { sub, jti, email, email_verified: verified, acr } = payload;
    if (typeof sub !== 'string' || sub === '' || hasForbiddenCharacter(sub)) throw new CredentialError('sub');
    const [expiresAtS, authenticatedAtS] = [secondsOf(payload.exp), secondsOf(payload['auth_time'])];
    if (expiresAtS === undefined) throw new CredentialError('exp');
    // The token is bound to a key or a certificate of its client (RFC 7800, 8705, 9449), whose proof is not checked.
    if (payload['cnf'] !== undefined) throw new CredentialError('proof_required');
    if (config.type === 'JWT' && !isAccessToken(payload)) throw new CredentialError('no_access_token');
    const isVerified = typeof email === 'string' && verified === true;
    const scopes = this.scopesOf([payload['scope'], payload['scp']]);
    return {
      subject: {
        ...{ issuer, subject: sub, email: isVerified ? foldEmail(email) : undefined },
        ...(!config.bindsByEmail && { bindsByEmail: false }),
        ...(scopes && { scopes }),
        ...(typeof acr === 'string' && { acr }),
        ...(authenticatedAtS !== undefined && { authenticatedAtS }),
      },
      origin: { issuer, subject: sub, tokenId: textOf(jti), clientId: textOf(payload['client_id'] ?? payload['azp']) },
      expiresAtMs: expiresAtS * 1000,
    };
  }

  /**
   * The scopes of this service in the claim `scope` (RFC 9068, section 2.2.3.1), or `scp`, as some providers name it. Those of other
   * services mean nothing here. A claim of another type allows nothing.
   */
  private scopesOf(claims: readonly unknown[]): readonly OperationScope[] | undefined {
    const named = claims.filter((claim) => claim !== undefined).map(namesIn);
    const scopes = named.flatMap((names) => names ?? []).filter(isOperationScope);
    return scopes.length > 0 || this.requiresScopes || named.includes(undefined) ? scopes : undefined;
  }
}

/** The names in a claim: separated by spaces, or a list. Undefined for a claim of another type. */
function namesIn(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) && claim.every((name) => typeof name === 'string') ? claim : undefined;
}

function keysOf(
  { source }: TokenConfig,
  dataDir: string,
  report: (report: KeyReport) => void,
): Promise<JWTVerifyGetKey> | JWTVerifyGetKey {
  const fetched = (fetchKeys: FetchKeys) => new IssuerKeys(fetchKeys, report).keyOf;
  switch (source.kind) {
    case 'local':
      return LocalIssuer.open(dataDir).then(({ keySet }) => createLocalJWKSet(keySet));
    case 'discovery':
      return fetched(discoverKeysOf(source.issuer));
    case 'jwks-url':
      return fetched(fetchKeysOf(source.issuer, source.url));
    case 'jwks-file':
      return createLocalJWKSet(readKeySet(source.file));
  }
}

/** The whole seconds of a time. It may have a fraction (RFC 7519, section 2: NumericDate). Undefined for a claim that is no time. */
function secondsOf(claim: unknown): number | undefined {
  const seconds = typeof claim === 'number' ? Math.floor(claim) : undefined;
  return Number.isSafeInteger(seconds) ? seconds : undefined;
}

const textOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined);

/** Tokens are not kept in memory. */
const keyOf = (token: string) => hash('sha256', token);

/** Whether nothing in a token says that it is of another kind. The header type `JWT` says nothing. */
function isAccessToken(payload: JWTPayload): boolean {
  if (OF_OTHER_KINDS.some((claim) => payload[claim] !== undefined)) return false;
  return Object.entries(KIND).every(
    ([claim, kind]) => payload[claim] === undefined || textOf(payload[claim])?.toLowerCase() === kind,
  );
}

function readKeySet(file: string): JSONWebKeySet {
  try {
    const keySet = parsed(readDocument(file));
    if (!Array.isArray(keySet?.keys) || keySet.keys.length === 0) throw new SecretFileError('has no "keys"');
    return keySet;
  } catch (error) {
    if (!(error instanceof SecretFileError)) throw error;
    throw new ConfigError([`JWKS_FILE ${file} ${error.message}.`]);
  }
}

function parsed(text: string): JSONWebKeySet | undefined {
  try {
    return JSON.parse(text) as JSONWebKeySet;
  } catch {
    throw new SecretFileError('is no JSON');
  }
}
