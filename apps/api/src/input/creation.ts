import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Created, Intent } from '@banking/domain';

/** The caller's name for what they mean to do, as it was sent. */
export const IntentOf = createParamDecorator((_: unknown, context: ExecutionContext): Intent => {
  const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
  const idempotencyKey = headers['idempotency-key'] as string | undefined;
  return idempotencyKey === undefined ? {} : { idempotencyKey };
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
  reply.header('location', `${at}/${id}`);
  if (isReplay) reply.header('idempotent-replayed', 'true');
  return resource;
}
