import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Created, type RequestOptions, isIdempotencyKey } from '@banking/domain';
import { publicReference } from '../http/public-url.js';

/** The key of a creation that its caller sent; undefined if it is not a valid one. */
export function sentKey({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'] as string | undefined;
  return key !== undefined && isIdempotencyKey(key) ? key : undefined;
}

/** An invalid key is passed on, to be refused. */
export const RequestOptionsOf = createParamDecorator((_: unknown, context: ExecutionContext): RequestOptions => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  request.idempotencyKey ??= sentKey(request);
  const idempotencyKey = (request.headers['idempotency-key'] as string | undefined) ?? request.idempotencyKey;
  return idempotencyKey === undefined ? {} : { idempotencyKey };
});

/**
 * Sends a created resource, its `Location`, and whether an earlier request created it.
 *
 * @param at the path that the id is appended to
 */
export function sendCreated<T extends { readonly id: number }>(
  reply: FastifyReply,
  at: string,
  { resource, isReplay }: Created<T>,
): T {
  // The upstream of a gateway may return an id beyond the safe integers.
  if (Number.isSafeInteger(resource.id)) reply.header('location', publicReference(reply, `${at}/${resource.id}`));
  if (isReplay) reply.header('idempotent-replayed', 'true');
  return resource;
}
