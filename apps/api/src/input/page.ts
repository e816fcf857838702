import type { FastifyReply } from 'fastify';
import type { Page, PageQuery } from '@banking/domain';
import { publicReference } from '../http/public-url.js';
import { CursorParameter, LimitParameter } from './parameter.decorator.js';

/** The parameters of every list. */
export class PageQueryDto implements PageQuery {
  @LimitParameter()
  readonly limit?: number;

  @CursorParameter()
  readonly cursor?: string;
}

/** Sends a page as the plain array it is, with the `Link` to the next one. */
export function sendPage<T>(reply: FastifyReply, { items, next }: Page<T>): readonly T[] {
  linkNext(reply, next);
  return items;
}

/**
 * Says where the next page is as a `Link` (RFC 8288): relative to the host that was called, with the parameters of
 * this request.
 *
 * @param next its cursor; undefined on the last page, which has no `Link`
 */
export function linkNext(reply: FastifyReply, next: string | undefined): void {
  if (next === undefined) return;
  const [path = '', query] = reply.request.url.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', next);
  reply.header('link', `<${publicReference(reply, path)}?${parameters.toString()}>; rel="next"`);
}
