import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const LOGGED_EVERY_MS = 60_000;

/**
 * Limits the connections of the server. At the limit, a new connection replaces the one that is the least likely to be in use: the
 * oldest that has not sent a complete head yet, otherwise the one that is idle for longest, otherwise one whose client does not read
 * its response. A connection whose request is being handled is never closed, and if all are, the server refuses new ones.
 *
 * Without it, clients that hold connections open would keep all others out until the timeouts of the server.
 */
export function limitConnections({ server, log }: Pick<FastifyInstance, 'server' | 'log'>, max: number): void {
  server.maxConnections = max;
  const connections = new OpenConnections();
  let loggedAtMs = -Infinity;
  server.on('connection', (socket: Socket) => {
    // The limit per address has already closed it.
    if (socket.destroyed) return;
    connections.add(socket);
    if (connections.count < max) return;
    connections.closeLeastUsed();
    if (performance.now() - loggedAtMs < LOGGED_EVERY_MS) return;
    loggedAtMs = performance.now();
    log.warn({ max }, 'connection limit reached');
  });
  const httpServer = server as Server;
  httpServer.on('request', (request: IncomingMessage, response: ServerResponse) =>
    connections.use(request.socket, response),
  );
}

/** The connections of a server, by their use. Each group is in the order in which the connections entered it. */
class OpenConnections {
  private readonly withoutRequest = new Set<Socket>();
  private readonly idle = new Set<Socket>();
  private readonly responding = new Map<Socket, Set<ServerResponse>>();

  get count(): number {
    return this.withoutRequest.size + this.idle.size + this.responding.size;
  }

  add(socket: Socket): void {
    this.withoutRequest.add(socket);
    socket.once('close', () => this.remove(socket));
  }

  /** Counts a request of a connection until its response is sent. Pipelined requests have responses at the same time. */
  use(socket: Socket, response: ServerResponse): void {
    // A request whose expectation is checked first is announced twice.
    if (this.responding.get(socket)?.has(response) || socket.destroyed) return;
    this.withoutRequest.delete(socket);
    this.idle.delete(socket);
    const responses = this.responding.get(socket) ?? new Set();
    this.responding.set(socket, responses.add(response));
    response.once('close', () => this.release(socket, response));
  }

  closeLeastUsed(): void {
    const socket = this.leastUsed();
    if (socket === undefined) return;
    // The event that it is closed comes later, and the next connection must not find it again.
    this.remove(socket);
    socket.destroy();
  }

  private leastUsed(): Socket | undefined {
    // The newest of those without a request is the new connection itself.
    if (this.withoutRequest.size > 1) return first(this.withoutRequest);
    return first(this.idle) ?? this.unread();
  }

  /** A connection whose responses are complete, but wait for the client to read them. */
  private unread(): Socket | undefined {
    for (const [socket, responses] of this.responding) {
      if ([...responses].every(({ writableEnded }) => writableEnded)) return socket;
    }
    return undefined;
  }

  private release(socket: Socket, response: ServerResponse): void {
    const responses = this.responding.get(socket);
    responses?.delete(response);
    if (responses?.size !== 0) return;
    this.responding.delete(socket);
    if (!socket.destroyed) this.idle.add(socket);
  }

  private remove(socket: Socket): void {
    this.withoutRequest.delete(socket);
    this.idle.delete(socket);
    this.responding.delete(socket);
  }
}

const first = (sockets: ReadonlySet<Socket>): Socket | undefined => sockets.values().next().value;
