import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LIMITS } from './limits.js';

/** Counts the requests of each connection. Node's own limit sends `Connection: close` too, but leaves the closing to the client. */
export class ConnectionAge {
  private readonly requests = new WeakMap<Socket, number>();

  /** Whether this request is to be the last of its connection. */
  isOver({ raw: { socket } }: FastifyRequest): boolean {
    const count = (this.requests.get(socket) ?? 0) + 1;
    this.requests.set(socket, count);
    return count >= LIMITS.requestsPerConnection;
  }
}

/**
 * Closes unused connections when the server closes. Browsers and other clients open connections in advance. Node counts a connection
 * without a request as busy and would wait for it.
 */
export function closeUnusedConnections(server: FastifyInstance): void {
  const sockets = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.addHook('preClose', (done) => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    done();
  });
}

const LOGGED_EVERY_MS = 60_000;

/** Closes a connection as soon as it is accepted, if its address has `max` others. A reverse proxy is one address. */
export function limitConnectionsPerAddress(
  { server, log }: Pick<FastifyInstance, 'server' | 'log'>,
  max: number,
): void {
  const counts = new Map<string, number>();
  let loggedAtMs = -Infinity;
  server.on('connection', (socket: Socket) => {
    const unit = addressUnit(socket.remoteAddress ?? '');
    const count = counts.get(unit) ?? 0;
    if (count >= max) {
      socket.destroy();
      if (performance.now() - loggedAtMs < LOGGED_EVERY_MS) return;
      loggedAtMs = performance.now();
      log.warn({ max }, 'connection refused: too many of one address');
      return;
    }
    counts.set(unit, count + 1);
    socket.once('close', () => {
      const left = (counts.get(unit) ?? 1) - 1;
      if (left > 0) counts.set(unit, left);
      else counts.delete(unit);
    });
  });
}

/** The unit of the limit: an IPv4 address, or the 64 bits of an IPv6 address that a network hands out as a whole (RFC 6177). */
export function addressUnit(address: string): string {
  const v4 = /^::ffff:([0-9.]+)$/i.exec(address)?.[1] ?? address;
  if (!v4.includes(':')) return v4;
  const [before = [], after] = v4.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = after === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...(after ?? [])];
  return groups.slice(0, 4).join(':');
}
