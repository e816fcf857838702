import { DEFAULT_AUDIENCE, type EnvironmentReader, type IssuerConfig, isLoopback, readIssuers } from '@banking/process';

/** An issuer of bearer tokens, and the claims that they must have. */
export interface TokenConfig {
  /** The `aud` a token must carry. */
  readonly audience: string;
  /** The `typ` a token must carry: `at+jwt` (RFC 9068), or `JWT` for providers that do not set it. */
  readonly type: string;
  /**
   * Whether a verified e-mail binds a subject to its user. Otherwise only provisioned subjects are recognised, which is the default outside
   * a sandbox: an identity provider may verify e-mails less well than a bank does.
   */
  readonly bindsByEmail: boolean;
  readonly source:
    | { readonly kind: 'local' }
    | { readonly kind: 'discovery'; readonly issuer: string }
    | { readonly kind: 'jwks-url'; readonly issuer: string; readonly url: string }
    | { readonly kind: 'jwks-file'; readonly issuer: string; readonly file: string };
}

/** Local tokens are for a sandbox, and by default for callers on this machine. */
interface TokenUse {
  readonly host: string;
  readonly isSandbox: boolean;
}

/** The issuers whose tokens are accepted: the identity providers, or else the one of this machine. */
export function readTokens(reader: EnvironmentReader, use: TokenUse): readonly TokenConfig[] {
  const { text, flag, mistakes } = reader;
  const issuers = readIssuers(reader);
  const hasIssuer = text('OIDC_ISSUER') !== undefined || text('OIDC_ISSUERS_FILE') !== undefined;
  if (!hasIssuer) return [localTokens(reader, use)];
  if (flag('LOCAL_TOKENS', false)) {
    const name = text('OIDC_ISSUER') === undefined ? 'OIDC_ISSUERS_FILE' : 'OIDC_ISSUER';
    mistakes.push(`LOCAL_TOKENS=on and ${name} exclude each other. Keep one.`);
  }
  return issuers.map((one) => ({
    audience: one.audience,
    type: one.tokenType,
    bindsByEmail: bindingOf(one, reader, use),
    source: sourceOf(one),
  }));
}

function sourceOf({ issuer, keys }: IssuerConfig): TokenConfig['source'] {
  if (keys === undefined) return { kind: 'discovery', issuer };
  return 'url' in keys ? { kind: 'jwks-url', issuer, url: keys.url } : { kind: 'jwks-file', issuer, file: keys.file };
}

/** Callers of a gateway have no other identity than their e-mail. */
function bindingOf(
  { bindsByEmail }: IssuerConfig,
  { text, mistakes }: EnvironmentReader,
  { isSandbox }: TokenUse,
): boolean {
  const isGateway = text('UPSTREAM_URL') !== undefined;
  if (isGateway && bindsByEmail === false) {
    mistakes.push(
      'OIDC_BIND_BY_EMAIL is off beside UPSTREAM_URL. A gateway recognises users by their verified e-mail only: remove OIDC_BIND_BY_EMAIL.',
    );
  }
  return bindsByEmail ?? (isGateway || isSandbox);
}

function localTokens({ text, flag, mistakes }: EnvironmentReader, { host, isSandbox }: TokenUse): TokenConfig {
  const allowed = flag('LOCAL_TOKENS', false);
  if (!isSandbox) {
    mistakes.push(
      'SANDBOX is off and OIDC_ISSUER is not set. A live deployment accepts only tokens of an identity provider. ' +
        'Set OIDC_ISSUER, or set SANDBOX=on for demo money.',
    );
  } else if (text('LOCAL_TOKENS') === 'off') {
    mistakes.push('LOCAL_TOKENS is off and OIDC_ISSUER is not set, so no token would be accepted. Set OIDC_ISSUER.');
  } else if (!allowed && !isLoopback(host)) {
    mistakes.push(
      `HOST is ${host} and OIDC_ISSUER is not set. Set OIDC_ISSUER to your identity provider, ` +
        'or set LOCAL_TOKENS=on to accept tokens signed by the key in DATA_DIR from every address.',
    );
  }
  if (!flag('OIDC_BIND_BY_EMAIL', true)) {
    mistakes.push(
      text('UPSTREAM_URL') === undefined
        ? 'OIDC_BIND_BY_EMAIL is off and there is no OIDC_ISSUER. Local tokens are recognised by their e-mail: ' +
            'set OIDC_ISSUER, or remove OIDC_BIND_BY_EMAIL.'
        : 'OIDC_BIND_BY_EMAIL is off beside UPSTREAM_URL. A gateway recognises users by their verified e-mail only: remove OIDC_BIND_BY_EMAIL.',
    );
  }
  return {
    audience: text('OIDC_AUDIENCE') ?? DEFAULT_AUDIENCE,
    type: 'at+jwt',
    bindsByEmail: true,
    source: { kind: 'local' },
  };
}
