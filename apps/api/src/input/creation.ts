import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Created, type Intent, isIdempotencyKey } from '@banking/domain';
import type { CalledRequest } from '../access/caller.js';
import { publicReference } from '../http/public-url.js';

/** The caller's name for what they mean to do, as it was sent. */
export const IntentOf = createParamDecorator((_: unknown, context: ExecutionContext): Intent => {
  const request = context.switchToHttp().getRequest<FastifyRequest & CalledRequest>();
  const idempotencyKey = request.headers['idempotency-key'] as string | undefined;
  if (idempotencyKey === undefined) return {};
  if (isIdempotencyKey(idempotencyKey)) request.idempotencyKey = idempotencyKey;
  return { idempotencyKey };
});

/**
 * Sends what was made, and says where it can be read and whether it was made by an earlier request.
 *
 * @param id of what is to be read there, where that is not what was made itself
 */
export function sendCreated<T extends { readonly id: number }>(
  reply: FastifyReply,
  at: string,
  { resource, isReplay }: Created<T>,
  id: number = resource.id,
): T {
  // Another deployment may answer an order whose id cannot be read here.
  if (Number.isSafeInteger(id)) reply.header('location', publicReference(reply, `${at}/${id}`));
  if (isReplay) reply.header('idempotent-replayed', 'true');
  return resource;
}
