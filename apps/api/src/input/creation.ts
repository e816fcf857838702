import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Created, Intent } from '@banking/domain';

/** The caller's name for what they mean to do, as it was sent. */
export const IntentOf = createParamDecorator((_: unknown, context: ExecutionContext): Intent => {
  const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
  const idempotencyKey = headers['idempotency-key'] as string | undefined;
  return idempotencyKey === undefined ? {} : { idempotencyKey };
});

/** Sends what was made, and says where it can be read and whether it was made by an earlier request. */
export function sendCreated<T extends { readonly id: number }>(
  reply: FastifyReply,
  at: string,
  { resource, isReplay }: Created<T>,
): T {
  reply.header('location', `${at}/${resource.id}`);
  if (isReplay) reply.header('idempotent-replayed', 'true');
  return resource;
}
