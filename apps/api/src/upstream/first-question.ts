import { ConnectionError, RemoteRefusal, ServiceError } from '@banking/client';
import { SessionError } from '@banking/client/session';
import { decodeJwt, type JWTPayload } from 'jose';
import type { Logger } from 'pino';
import { ConfigError } from '@banking/process';
import type { LoopWatch } from './loop-watch.js';
import { credentialTrouble, upstreamFailure } from './upstream-failure.js';

interface FirstQuestion {
  /** Asks the upstream something that every credential may. */
  readonly ask: () => Promise<unknown>;
  /** What we show there. Of it only what it says of itself is repeated, where it is a JWT. */
  readonly token: () => Promise<string>;
  readonly loop: LoopWatch;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Asks the upstream once, before anybody is told that the gateway is ready. One that is away or answers 5xx may come yet, and is
 * waited for by `/health/ready`.
 *
 * @throws ConfigError for what no waiting mends: a credential it refuses, another interface, a certificate, ourselves
 */
export async function askFirst({ ask, token, loop, log }: FirstQuestion): Promise<void> {
  try {
    await ask();
  } catch (error) {
    const failure = upstreamFailure(error, undefined);
    if (!failure) throw error;
    const mistake = loop.isLoop ? LEADS_BACK : await mistakeBehind(error, token);
    if (mistake !== undefined) throw new ConfigError([mistake]);
    log.warn({ why: failure.why }, 'the upstream does not answer: not ready until it does');
  }
}

const LEADS_BACK = 'UPSTREAM_URL leads back to this gateway. Set it to the other deployment.';

async function mistakeBehind(error: unknown, token: () => Promise<string>): Promise<string | undefined> {
  if (error instanceof ConnectionError) return certificateMistake(error);
  if (error instanceof SessionError && !error.isOver && !(error.cause instanceof ConfigError)) return undefined;
  const trouble = credentialTrouble(error);
  if (trouble !== undefined) return `There is no credential for the upstream. ${trouble}`;
  if (!(error instanceof RemoteRefusal || error instanceof ServiceError)) return undefined;
  const { status } = error;
  if (status === 401) return refusedToken(await token());
  if (status === 403) return 'The upstream knows our credential and does not let it list its apps (403). Give its user a role there, or set another credential.'; // prettier-ignore
  if (status >= 500 || status === 429) return undefined;
  return `UPSTREAM_URL does not answer as this interface: ${whatItSaid(error)}. Set it to where the paths begin, so that /apps can be appended.`; // prettier-ignore
}

/** Another certificate is not going to come by waiting. */
function certificateMistake({ cause, timedOut }: ConnectionError): string | undefined {
  const code = timedOut ? undefined : codeOf(cause);
  if (code === undefined || !/CERT|SSL|TLS|^UNABLE_TO_|^EPROTO$/.test(code)) return undefined;
  return `UPSTREAM_URL is not believed: its certificate or its TLS fails (${code}). Renew the certificate, set the name it is made for, or name the authority that signed it in NODE_EXTRA_CA_CERTS.`; // prettier-ignore
}

function codeOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? undefined : codeOf(cause);
}

function whatItSaid({ status, message }: RemoteRefusal | ServiceError): string {
  return status < 400 ? message.replace(/\.$/, '') : `GET /apps answered ${status}`;
}

/** A wrong issuer, another audience or an expired token is seen at once. */
function refusedToken(token: string): string {
  const claims = claimsOf(token);
  const about = claims === undefined ? 'It is no JWT.' : saidBy(claims);
  return `The upstream does not accept our credential (401). ${about} Set one that it accepts.`;
}

function claimsOf(token: string): JWTPayload | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

function saidBy({ iss, aud, exp }: JWTPayload): string {
  const issued = `The token says that ${iss ?? 'nobody'} issued it for ${[aud ?? 'nobody'].flat().join(', ')}`;
  if (typeof exp !== 'number' || !(exp < EXP_MAX)) return `${issued}, without an end.`;
  const end = new Date(exp * 1000);
  return `${issued}, good until ${end.toISOString()}${end.getTime() < Date.now() ? ', which is over' : ''}.`;
}

/** The last second a Date can hold. */
const EXP_MAX = 8_640_000_000_000;
