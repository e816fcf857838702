import type { FastifyReply } from 'fastify';
import type { Page, PageQuery } from '@banking/domain';
import { publicReference } from '../http/public-url.js';
import { CursorParameter, LimitParameter } from './parameter.decorator.js';

export class PageQueryDto implements PageQuery {
  @LimitParameter()
  readonly limit?: number;

  @CursorParameter()
  readonly cursor?: string;
}

/** Sends a page as an array, with a `Link` to the next page. */
export function sendPage<T>(reply: FastifyReply, { items, next }: Page<T>): readonly T[] {
  linkNext(reply, next);
  return items;
}

/**
 * Sets a `Link` to the next page (RFC 8288), relative to the called host, with the parameters of this request.
 *
 * @param next the cursor of the next page; undefined on the last page, which has no `Link`
 */
export function linkNext(reply: FastifyReply, next: string | undefined): void {
  if (next === undefined) return;
  const [path = '', query] = reply.request.url.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', next);
  reply.header('link', `<${publicReference(reply, path)}?${parameters.toString()}>; rel="next"`);
}
