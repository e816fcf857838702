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
 * Closes, when the server closes, connections on which nothing was ever said: a browser and many a client open them in advance. Node
 * counts them among those that are busy, and would wait for them.
 */
export function closeSilentConnections(server: FastifyInstance): void {
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
