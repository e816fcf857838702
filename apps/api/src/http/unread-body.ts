import type { Server } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LIMITS } from './limits.js';

type Head = Pick<FastifyRequest, 'method' | 'headers' | 'is404'>;

function hasBody({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Whether the request carries a body that no handler reads. */
export function isBodyIgnored(request: Head): boolean {
  return hasBody(request) && (request.is404 || ['GET', 'HEAD', 'OPTIONS'].includes(request.method));
}

/** Whether a part of the body is still to come. A handler that reads it has not run. */
export function isBodyPending(request: Pick<FastifyRequest, 'headers' | 'raw'>): boolean {
  return hasBody(request) && !request.raw.complete;
}

/**
 * Whether a response must close the connection, because the rest of the body is chunked or larger than the service reads. Node
 * discards a shorter rest, and the connection carries further requests.
 */
export function mustCloseAfter(request: Pick<FastifyRequest, 'headers' | 'raw'>): boolean {
  return isBodyPending(request) && (request.headers['transfer-encoding'] !== undefined || !isWithinLimit(request));
}

const isWithinLimit = ({ headers }: Pick<FastifyRequest, 'headers'>) =>
  Number(headers['content-length'] ?? 0) <= LIMITS.bodyBytes;

/** How much of a refused body is read after its response, and for how long its connection then stays open. */
const DRAINED_BYTES = 1024 * 1024;
const DRAINED_MS = 2_000;

/**
 * Closes the connection after the response, once the client has had a chance to read it. A socket that is closed with unread bytes is
 * reset, and a client that is still sending then loses the response (RFC 9112, section 9.6).
 */
export function closeAfterDraining({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.header('Connection', 'close');
  const { socket } = raw;
  let left = DRAINED_BYTES;
  raw.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left <= 0) raw.pause();
  });
  const closeOnceFlushed = socket.destroySoon.bind(socket);
  // Node calls this when a response with `Connection: close` is sent.
  socket.destroySoon = () => {
    if (raw.readableEnded) return closeOnceFlushed();
    socket.end();
    const timer = setTimeout(() => socket.destroy(), DRAINED_MS);
    raw.once('end', closeOnceFlushed);
    socket.once('close', () => clearTimeout(timer));
  };
}

/** Clients that wait for `100 Continue` before they send a body get it only once the head is accepted. */
export class Continuation {
  private readonly waiting = new WeakSet<object>();

  constructor(server: Server) {
    // With a listener, Node does not respond to `Expect: 100-continue` itself.
    server.on('checkContinue', (request, response) => {
      this.waiting.add(request);
      server.emit('request', request, response);
    });
  }

  /** Sends `100 Continue`, unless there is no body, or it will be refused for its size or ignored. */
  send(request: FastifyRequest, reply: FastifyReply): void {
    if (!this.waiting.has(request.raw)) return;
    if (hasBody(request) && !isBodyIgnored(request) && isWithinLimit(request)) reply.raw.writeContinue();
  }
}
