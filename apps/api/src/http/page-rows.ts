import type { FastifyRequest } from 'fastify';
import { LIMIT_MAX, parseId } from '@banking/domain';
import { preferredType } from './accept.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How many rows a page without `limit` has, if the operation has pages. */
    pageRows?: number;
    /** The media type of a response that is the whole list. It is read in pages of the maximum. */
    tableType?: string;
  }
}

/** How many rows a request may read at once: the `limit` of its page. An operation without pages reads none. */
export function pageRows({ routeOptions, query, headers }: Pick<FastifyRequest, 'routeOptions' | 'query' | 'headers'>) {
  const { pageRows: usual, tableType, mediaTypes = [] } = routeOptions.config;
  if (usual === undefined) return 0;
  if (tableType !== undefined && preferredType(headers.accept, mediaTypes) === tableType) return LIMIT_MAX;
  const { limit } = query as Readonly<Record<string, unknown>>;
  const rows = typeof limit === 'string' ? parseId(limit) : undefined;
  // The operation refuses any other limit.
  return rows !== undefined && rows <= LIMIT_MAX ? rows : usual;
}
