import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';

/** A reply whose end a spec announces: `raw.emit('close')`. */
export function replyWithoutServer(isOver = false) {
  const raw = Object.assign(new EventEmitter(), { destroyed: isOver });
  const socket = Object.assign(new EventEmitter(), { destroyed: isOver });
  return { raw, request: { raw: { socket } } } as unknown as Pick<FastifyReply, 'raw' | 'request'>;
}
