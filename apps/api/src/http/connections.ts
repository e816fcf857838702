import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler } from 'fastify';
import { LIMITS } from './limits.js';

/**
 * Calls `listener` once, when the response has been sent or its connection is closed. Node does not report the close of a connection to
 * the responses that wait behind another one of a pipeline, so this listens to both.
 *
 * @returns stops listening
 */
export function onResponseEnd(
  { raw, request }: Pick<FastifyReply, 'raw' | 'request'>,
  listener: () => void,
): () => void {
  const { socket } = request.raw;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    raw.off('close', end);
    socket.off('close', end);
  };
  const end = () => {
    // The close of a connection is announced to all its listeners, also to one that is removed meanwhile.
    if (isStopped) return;
    stop();
    listener();
  };
  raw.once('close', end);
  socket.once('close', end);
  return stop;
}

/** Whether nothing can be sent any more. */
export const isResponseOver = ({ raw, request }: Pick<FastifyReply, 'raw' | 'request'>): boolean =>
  raw.destroyed || request.raw.socket.destroyed;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How long a request of the route may be held before its handler responds, in milliseconds. Default 0. */
    holdMs?: number;
  }
}

/**
 * Keeps the connection of a request that is held: without data for that long, the server would close it. The limit for a client that
 * does not read its response is that of other requests.
 */
export function keepHeldConnections(server: FastifyInstance, draining: { readonly begun: boolean }): void {
  // Hooks of every route would cost the other routes time.
  server.addHook('onRoute', (route) => {
    const holdMs = route.config?.holdMs;
    if (holdMs === undefined) return;
    const hold: onRequestHookHandler = (request, _reply, done) => {
      request.raw.socket.setTimeout(LIMITS.idleTimeoutMs + holdMs);
      done();
    };
    const release: onSendHookHandler = (request, reply, _payload, done) => {
      request.raw.socket.setTimeout(LIMITS.idleTimeoutMs);
      // The stop may have begun while the request was held.
      if (draining.begun) reply.header('connection', 'close');
      done();
    };
    route.onRequest = [route.onRequest ?? [], hold].flat();
    route.onSend = [route.onSend ?? [], release].flat();
  });
}

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

/** How long connections without a request stay open after the server stopped listening. */
const UNUSED_MS = 500;

/**
 * Closes unused connections after the server stopped listening. Browsers and other clients open connections in advance. Node counts a
 * connection without a request as busy and would wait for it. They are closed a little later, because a request may have been sent that
 * is not read yet, which the close would reset.
 */
export function closeUnusedConnections(
  server: FastifyInstance,
  later = (close: () => void): void => void setTimeout(close, UNUSED_MS).unref(),
): void {
  const sockets = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.addHook('preClose', (done) => {
    acceptQueued(server.server, () => {
      later(() => {
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      });
      done();
    });
  });
}

/** How many connections the kernel queues for a server, by default of Node. */
const BACKLOG = 511;

/**
 * Calls `then` once the kernel queues no connection, because the server would reset those when it stops listening. An event loop of Node
 * accepts one in each turn. A turn that handles a request counts too, because its client may connect again meanwhile. If connections keep
 * coming, those that were queued at first are accepted.
 */
function acceptQueued(server: FastifyInstance['server'], then: () => void): void {
  let turnsLeft = BACKLOG;
  // The first turn may have begun after the event loop looked for connections.
  let isBusy = true;
  const onUse = () => (isBusy = true);
  server.on('connection', onUse).on('request', onUse);
  const turn = () => {
    if (isBusy && turnsLeft > 0) {
      turnsLeft -= 1;
      isBusy = false;
      setImmediate(turn);
    } else {
      server.off('connection', onUse).off('request', onUse);
      then();
    }
  };
  setImmediate(turn);
}

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

type Head = Pick<FastifyRequest, 'method' | 'headers' | 'is404'>;

export function hasBody({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * Whether the body has a transfer coding besides `chunked`. Node does not decode it, so a proxy would read another body than the service
 * (RFC 9112, section 6.1).
 */
export function hasUnknownCoding({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && coding.toLowerCase() !== 'chunked';
}

/** Whether the request carries a body that no handler reads. */
export function isBodyIgnored(request: Head): boolean {
  if (!hasBody(request)) return false;
  return request.is404 || hasUnknownCoding(request) || ['GET', 'HEAD', 'OPTIONS'].includes(request.method);
}

/** Whether the request carries a body that is read. */
export const isBodyRead = (request: Head): boolean => hasBody(request) && !isBodyIgnored(request);

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
    if (isBodyRead(request) && isWithinLimit(request)) reply.raw.writeContinue();
  }
}
