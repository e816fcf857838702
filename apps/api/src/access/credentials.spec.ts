import type { FastifyRequest } from 'fastify';
import { bearerToken } from './credentials.js';
import { CredentialError } from './token-verifier.js';

const requestWith = (...rawHeaders: string[]) => ({ raw: { rawHeaders } }) as unknown as FastifyRequest;

describe('bearerToken', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER   abc', 'abc'],
    ['Bearer aZ09._~+/-==', 'aZ09._~+/-=='],
  ])('returns the token of %j', (value, token) => {
    expect(bearerToken(requestWith('Authorization', value))).toBe(token);
  });

  it.each(['', 'Bearer', 'Bearer ', 'Bearerabc', ' Bearer abc', 'Basic abc', 'Bearer a b', 'Bearer a=b', 'Bearer ='])(
    'refuses %j',
    (value) => {
      expect(() => bearerToken(requestWith('Authorization', value))).toThrow(
        new CredentialError('Authorization is no bearer token'),
      );
    },
  );

  it.each([
    [[], '0 Authorization headers'],
    [['Authorization', 'Bearer a', 'authorization', 'Bearer a'], '2 Authorization headers'],
  ])('refuses a request with the headers %j', (rawHeaders, why) => {
    expect(() => bearerToken(requestWith(...rawHeaders))).toThrow(new CredentialError(why));
  });
});
