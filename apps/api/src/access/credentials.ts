import type { FastifyRequest } from 'fastify';
import { headerLines } from '../http/header-lines.js';
import { CredentialError } from './token-verifier.js';

/** The scheme is case-insensitive (RFC 9110, section 11.1), the token is a b64token (RFC 6750, section 2.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** @throws CredentialError unless the request has exactly one bearer token */
export function bearerToken(request: FastifyRequest): string {
  const values = headerLines(request, 'authorization');
  if (values.length !== 1) {
    throw new CredentialError(values.length === 0 ? 'missing' : 'repeated');
  }
  const token = BEARER.exec(values[0] ?? '')?.[1];
  if (token === undefined) throw new CredentialError('malformed');
  return token;
}
