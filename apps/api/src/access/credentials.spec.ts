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
      expect(() => bearerToken(requestWith('Authorization', value))).toThrow(new CredentialError('malformed'));
    },
  );

  it.each([
    [[], 'missing'],
    [['Authorization', 'Bearer a', 'authorization', 'Bearer a'], 'repeated'],
  ] as const)('refuses a request with the headers %j', (rawHeaders, fault) => {
    const refused = expect(() => bearerToken(requestWith(...rawHeaders)));
    refused.toThrow(CredentialError);
    refused.toThrow(expect.objectContaining({ fault }));
  });
});
