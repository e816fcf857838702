import type { FastifyInstance, FastifyReply } from 'fastify';
import { type EnvironmentReader, isTrustworthy } from '@banking/process';

declare module 'fastify' {
  interface FastifyInstance {
    /** The path of `PUBLIC_URL` without a slash at its end: empty where it has none. */
    readonly publicPath: string;
  }
}

/** The address under which callers reach the service, without a slash at its end; undefined where none is set. */
export function readPublicUrl({ text, mistakes }: Pick<EnvironmentReader, 'text' | 'mistakes'>): string | undefined {
  const given = text('PUBLIC_URL');
  if (given === undefined) return undefined;
  const mistake = mistakeInUrl(given);
  if (mistake === undefined) return new URL(given).href.replace(/\/$/, '');
  mistakes.push(`PUBLIC_URL ${mistake}`);
  return undefined;
}

function mistakeInUrl(given: string): string | undefined {
  if (!isTrustworthy(given)) {
    return 'must begin with https:// (http:// only on a loopback address), for example https://bank.example/payments.';
  }
  const { username, password, pathname } = new URL(given);
  if (username !== '' || password !== '') return 'must not hold a user name or password. Remove them.';
  if (/[?#]/.test(given)) return 'must not have a query or a fragment. Remove everything from ? or # on.';
  // A path that begins with two slashes would name another host in a Location header (RFC 3986, section 4.2).
  if (pathname.includes('//')) return 'has an empty path segment. Write single slashes.';
  return undefined;
}

/** Sets the path under which a proxy serves the server. The proxy removes that path before it forwards a request. */
export function setPublicPath(server: FastifyInstance, publicUrl: string | undefined): void {
  server.decorate('publicPath', publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, ''));
}

/** A path of the service as callers can follow it: a relative reference with an absolute path (RFC 3986, section 4.2). */
export const publicReference = (reply: FastifyReply, path: string): string => `${reply.server.publicPath}${path}`;
