import { resolve } from 'node:path';
import type { EnvironmentReader } from './environment-reader.js';
import { isTrustworthy } from './password-file.js';
import { readDocument, SecretFileError } from './secret-file.js';

/** An identity provider whose access tokens are accepted. */
export interface IssuerConfig {
  /** Exactly as written, because tokens repeat it letter by letter. */
  readonly issuer: string;
  /** The `aud` that its tokens have. */
  readonly audience: string;
  /** The `typ` that its tokens have: `at+jwt` (RFC 9068), or `JWT` for providers that do not set it. */
  readonly tokenType: string;
  /** Where its keys are. Undefined: its discovery document names the URL. */
  readonly keys?: { readonly url: string } | { readonly file: string } | undefined;
  /** Whether a verified e-mail in its tokens binds a subject to the user. Undefined if nothing is said of it. */
  readonly bindsByEmail?: boolean | undefined;
}

const TOKEN_TYPES = ['at+jwt', 'JWT'] as const;

export const DEFAULT_AUDIENCE = 'banking-api';

/**
 * The identity providers: those that `OIDC_ISSUERS_FILE` lists, or the one that `OIDC_ISSUER` and the variables beside it describe. None:
 * tokens are signed locally.
 */
export function readIssuers(reader: EnvironmentReader): readonly IssuerConfig[] {
  const { text, mistakes } = reader;
  const file = text('OIDC_ISSUERS_FILE');
  if (file === undefined) return readOne(reader);
  const besides = ['OIDC_ISSUER', 'OIDC_AUDIENCE', 'OIDC_TOKEN_TYPE', 'OIDC_BIND_BY_EMAIL', 'JWKS_URL', 'JWKS_FILE'];
  const set = besides.filter((name) => text(name) !== undefined);
  if (set.length > 0) {
    mistakes.push(`OIDC_ISSUERS_FILE and ${set.join(', ')} are set. Move these settings into the file, or remove it.`);
  }
  return readFile(file, mistakes);
}

function readOne({ text, url, oneOf, flag, mistakes }: EnvironmentReader): readonly IssuerConfig[] {
  const issuer = text('OIDC_ISSUER');
  if (issuer !== undefined && !isTrustworthy(issuer)) {
    mistakes.push('OIDC_ISSUER must be the https URL of the identity provider (http only on a loopback address).');
  }
  const audience = text('OIDC_AUDIENCE') ?? DEFAULT_AUDIENCE;
  const tokenType = oneOf('OIDC_TOKEN_TYPE', TOKEN_TYPES, 'at+jwt');
  const keysUrl = url('JWKS_URL', ['https:', 'http:']);
  const keysFile = text('JWKS_FILE');
  if (keysUrl !== undefined && !isTrustworthy(keysUrl)) {
    mistakes.push(
      'JWKS_URL must begin with https:// (http only on a loopback address), because http does not protect the keys in transit.',
    );
  }
  if (keysUrl !== undefined && keysFile !== undefined) mistakes.push('JWKS_URL and JWKS_FILE are both set. Keep one.');
  if (issuer === undefined) {
    if ((keysUrl ?? keysFile) !== undefined) {
      mistakes.push('JWKS_URL and JWKS_FILE need OIDC_ISSUER, the issuer of the tokens. Set it.');
    }
    return [];
  }
  const keys =
    keysUrl !== undefined ? { url: keysUrl } : keysFile !== undefined ? { file: resolve(keysFile) } : undefined;
  const bindsByEmail = text('OIDC_BIND_BY_EMAIL') === undefined ? undefined : flag('OIDC_BIND_BY_EMAIL', true);
  return [{ issuer, audience, tokenType, keys, bindsByEmail }];
}

const ISSUERS_MAX = 20;

/** What an entry may have: the type of each member. */
const MEMBERS: Readonly<Record<string, 'string' | 'boolean'>> = {
  issuer: 'string',
  audience: 'string',
  tokenType: 'string',
  jwksUrl: 'string',
  jwksFile: 'string',
  bindByEmail: 'boolean',
};

const EXAMPLE = '[{"issuer": "https://login.example", "audience": "banking-api"}]';

function readFile(file: string, mistakes: string[]): readonly IssuerConfig[] {
  const entries = parsed(file, mistakes);
  if (entries === undefined) return [];
  if (!Array.isArray(entries) || entries.length === 0 || entries.length > ISSUERS_MAX) {
    mistakes.push(`OIDC_ISSUERS_FILE is not a JSON list of 1 to ${ISSUERS_MAX} issuers, such as ${EXAMPLE}.`);
    return [];
  }
  const issuers = entries.flatMap((entry: unknown, index) => readEntry(entry, index + 1, mistakes) ?? []);
  const names = issuers.map(({ issuer }) => issuer);
  if (new Set(names).size < names.length)
    mistakes.push('OIDC_ISSUERS_FILE names an issuer twice. Keep one entry of each.');
  return issuers;
}

function parsed(file: string, mistakes: string[]): unknown {
  try {
    return JSON.parse(readDocument(file));
  } catch (error) {
    const why = error instanceof SecretFileError ? error.message : 'is no JSON';
    mistakes.push(`OIDC_ISSUERS_FILE ${why}. Correct the path, or the file.`);
    return undefined;
  }
}

function readEntry(entry: unknown, place: number, mistakes: string[]): IssuerConfig | undefined {
  const found = mistakes.length;
  const refuse = (what: string) => mistakes.push(`Entry ${place} of OIDC_ISSUERS_FILE ${what}.`);
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    refuse('is no object');
    return undefined;
  }
  for (const [member, value] of Object.entries(entry)) {
    const type = Object.hasOwn(MEMBERS, member) ? MEMBERS[member] : undefined;
    if (type === undefined) refuse(`has another member than ${Object.keys(MEMBERS).join(', ')}. Remove it`);
    else if (typeof value !== type || value === '') refuse(`has a member ${member} that is no ${type}`);
  }
  if (mistakes.length > found) return undefined;
  const { issuer, audience, tokenType, jwksUrl, jwksFile, bindByEmail } = entry as {
    readonly [Name in 'issuer' | 'audience' | 'tokenType' | 'jwksUrl' | 'jwksFile']?: string;
  } & { readonly bindByEmail?: boolean };
  if (issuer === undefined || !isTrustworthy(issuer)) {
    refuse('has no issuer, the https URL of the identity provider (http only on a loopback address). Set it');
  }
  if (tokenType !== undefined && !(TOKEN_TYPES as readonly string[]).includes(tokenType)) {
    refuse(`has another tokenType than ${TOKEN_TYPES.join(' and ')}`);
  }
  if (jwksUrl !== undefined && jwksFile !== undefined) refuse('has both jwksUrl and jwksFile. Keep one');
  if (jwksUrl !== undefined && !isTrustworthy(jwksUrl)) {
    refuse('has a jwksUrl that does not begin with https:// (http only on a loopback address)');
  }
  if (mistakes.length > found || issuer === undefined) return undefined;
  return {
    issuer,
    audience: audience ?? DEFAULT_AUDIENCE,
    tokenType: tokenType ?? 'at+jwt',
    keys: jwksUrl !== undefined ? { url: jwksUrl } : jwksFile !== undefined ? { file: resolve(jwksFile) } : undefined,
    bindsByEmail: bindByEmail,
  };
}
