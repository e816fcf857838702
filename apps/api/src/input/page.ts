import type { FastifyReply } from 'fastify';
import type { Page, PageQuery } from '@banking/domain';
import { CursorParameter, LimitParameter } from './parameter.decorator.js';

/** The parameters of every list. */
export class PageQueryDto implements PageQuery {
  @LimitParameter()
  readonly limit?: number;

  @CursorParameter()
  readonly cursor?: string;
}

/**
 * Sends a page as the plain array it is, and where the next one is as a `Link` (RFC 8288): relative, so that it holds behind any
 * proxy, with the parameters of this request.
 */
export function sendPage<T>(reply: FastifyReply, { items, next }: Page<T>): readonly T[] {
  if (next !== undefined) {
    const [path = '', query] = reply.request.url.split('?');
    const parameters = new URLSearchParams(query);
    parameters.set('cursor', next);
    reply.header('link', `<${path}?${parameters.toString()}>; rel="next"`);
  }
  return items;
}
