import type { FastifyInstance } from 'fastify';
import { decodeJwt, type JWTPayload } from 'jose';
import type { Logger } from 'pino';
import { ConnectionError, RemoteRefusal, ServiceError } from '@banking/client';
import { SessionError } from '@banking/client/session';
import { Refusal } from '@banking/domain';
import { ConfigError } from '@banking/process';
import type { Readiness } from '../health/readiness.js';
import { credentialFault, upstreamFailure } from './upstream-failure.js';

/**
 * Ready while the upstream responds to our credential.
 *
 * @param check calls the upstream, and throws the client's error
 */
export const upstreamReadiness = (check: () => Promise<unknown>): Readiness => ({
  check: () => check().then(() => undefined, explain),
});

/** The health check is public, so its response names no host and no text of the upstream. A refusal of our circuit breaker is kept. */
function explain(cause: unknown): never {
  const failure = upstreamFailure(cause, undefined);
  if (!failure) throw cause;
  const { response, why, needsOperator = false } = failure;
  const message = needsOperator
    ? 'The upstream refuses our credential, or there is none.'
    : 'The upstream service failed or returned an invalid response.';
  throw new Refusal('unavailable', message, {
    retryAfterSeconds: response.retryAfterSeconds,
    cause: new Error(why, { cause }),
  });
}

/** Detects requests that this gateway has sent itself: its upstream leads back to it, directly or through other gateways. */
export class RequestLoopDetector {
  isLoop = false;

  /** @param name the name of this process in `Via` (RFC 9110, section 7.6.3); no other process has it */
  constructor(private readonly name: string) {}

  watch(server: FastifyInstance): void {
    server.addHook('onRequest', (request, _reply, done) => {
      const isOurs = request.headers.via?.includes(this.name) === true;
      if (isOurs) this.isLoop = true;
      done(isOurs ? new Refusal('upstream_error', 'This gateway leads back to itself.') : undefined);
    });
  }
}

interface UpstreamCheck {
  /** A request that every credential may make. */
  readonly check: () => Promise<unknown>;
  /** The access token for the upstream. Messages name its claims only, if it is a JWT. */
  readonly token: () => Promise<string>;
  readonly loop: RequestLoopDetector;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Calls the upstream once, before the gateway reports that it is ready. An upstream that is unreachable or responds 5xx may recover;
 * `/health/ready` reports 503 until then.
 *
 * @throws ConfigError for a fault that an operator has to fix: a refused credential, another interface, a certificate, a loop
 */
export async function checkUpstream({ check, token, loop, log }: UpstreamCheck): Promise<void> {
  try {
    await check();
  } catch (error) {
    const failure = upstreamFailure(error, undefined);
    if (!failure) throw error;
    const mistake = loop.isLoop ? LEADS_BACK : await mistakeOf(error, token);
    if (mistake !== undefined) throw new ConfigError([mistake]);
    log.warn({ why: failure.why }, 'upstream unreachable: not ready until it responds');
  }
}

const LEADS_BACK = 'UPSTREAM_URL leads back to this gateway. Set it to the other deployment.';

async function mistakeOf(error: unknown, token: () => Promise<string>): Promise<string | undefined> {
  if (error instanceof ConnectionError) return certificateMistake(error);
  if (error instanceof SessionError && !error.isOver && !(error.cause instanceof ConfigError)) return undefined;
  const fault = credentialFault(error);
  if (fault !== undefined) return `There is no credential for the upstream. ${fault}`;
  if (!(error instanceof RemoteRefusal || error instanceof ServiceError)) return undefined;
  const { status } = error;
  if (status === 401) return refusedToken(await token());
  if (status === 403) return NO_ROLE;
  if (status >= 500 || status === 429) return undefined;
  return `UPSTREAM_URL does not serve this interface: ${responseOf(error)}. Set it to the URL to which /apps can be appended.`;
}

const NO_ROLE =
  'The upstream accepts our credential but does not let it list its apps (403). Give its user a role there, or set another credential.';

/** A certificate does not change by waiting. */
function certificateMistake({ cause, timedOut }: ConnectionError): string | undefined {
  const code = timedOut ? undefined : codeOf(cause);
  if (code === undefined || !/CERT|SSL|TLS|^UNABLE_TO_|^EPROTO$/.test(code)) return undefined;
  return (
    `The TLS connection to UPSTREAM_URL fails (${code}). ` +
    'Renew the certificate, set the host name that it is issued for, or name its authority in NODE_EXTRA_CA_CERTS.'
  );
}

function codeOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? undefined : codeOf(cause);
}

function responseOf({ status, message }: RemoteRefusal | ServiceError): string {
  return status < 400 ? message.replace(/\.$/, '') : `GET /apps has status ${status}`;
}

/** Names issuer, audience and expiry, so that the operator sees which one is wrong. */
function refusedToken(token: string): string {
  const claims = claimsOf(token);
  const about = claims === undefined ? 'It is no JWT.' : describeClaims(claims);
  return `The upstream does not accept our credential (401). ${about} Set one that it accepts.`;
}

function claimsOf(token: string): JWTPayload | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

function describeClaims({ iss, aud, exp }: JWTPayload): string {
  const issued = `The token has issuer ${iss ?? 'none'} and audience ${[aud ?? 'none'].flat().join(', ')}`;
  if (typeof exp !== 'number' || !(exp < EXP_MAX)) return `${issued}, and no expiry.`;
  const end = new Date(exp * 1000);
  return `${issued}. It ${end.getTime() < Date.now() ? 'expired' : 'expires'} at ${end.toISOString()}.`;
}

/** The last second a Date can hold. */
const EXP_MAX = 8_640_000_000_000;
