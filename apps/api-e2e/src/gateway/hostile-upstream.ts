import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ADA, BOB } from '../service.js';

/** A request as it has arrived, whole. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What is done with a request, in place of an answer: everything down to the socket may be used. */
export type Trick = (response: ServerResponse, asked: ReceivedRequest) => void;

/** A user list, whether or not it is one. */
export type UserList = unknown;

const role = (id: number, name: string, workspace: number) => ({
  id,
  role: name,
  edges: { workspace: { id: workspace, name: `Workspace ${workspace}` } },
});

/** Ada may do everything in workspace 1, Bob something. */
export const PEOPLE: readonly unknown[] = [
  { id: 1, email: ADA, status: 'completed', edges: { roles: [role(1, 'admin', 1)] } },
  { id: 2, email: BOB, status: 'completed', edges: { roles: [role(2, 'member', 1)] } },
];
export const roleIn = role;

/**
 * An upstream that lets a gateway start and identify its callers, and responds to every other request as the spec sets it.
 */
export class HostileUpstream {
  /** All that has arrived but what the gateway asks for itself. */
  readonly received: ReceivedRequest[] = [];
  /** How often the user lists have been read. */
  listsRead = 0;
  /** Of app 1. */
  users: UserList = PEOPLE;
  usersOf2: UserList = [];
  apps: unknown = [{ id: 1, name: 'App 1' }];
  /** For the lists too, where it is set. */
  listsTrick: Trick | undefined;
  trick: Trick = json([]);
  private readonly sockets = new Set<Socket>();
  private waiting: (() => void)[] = [];

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {}

  static async start(): Promise<HostileUpstream> {
    const server = createServer({ maxHeaderSize: 64 * 1024 });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const upstream = new HostileUpstream(server, (server.address() as AddressInfo).port);
    server.on('connection', (socket) => {
      upstream.sockets.add(socket);
      // The gateway may disconnect from a malformed response.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => upstream.sockets.delete(socket));
    });
    server.on('request', (request, response) => void upstream.take(request, response));
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves when this holds; looked at whenever a request has arrived. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** Closes the server and its connections. */
  async goAway(): Promise<void> {
    const closed = once(this.server.close(), 'close');
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  async comeBack(): Promise<void> {
    await once(this.server.listen(this.port, '127.0.0.1'), 'listening');
  }

  private listAt(path: string): unknown {
    if (path === '/apps') return this.apps;
    if (path === '/apps/1/users') return this.users;
    return path === '/apps/2/users' ? this.usersOf2 : undefined;
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const body = await textOf(request);
    const asked: ReceivedRequest = { method, path, headers, body };
    const isList = path === '/apps' || /^\/apps\/\d+\/users$/.test(path);
    if (path.endsWith('/users')) this.listsRead += 1;
    if (!isList) this.received.push(asked);
    const trick = isList ? (this.listsTrick ?? listed(this.listAt(path))) : this.trick;
    trick(response, asked);
    const waiting = this.waiting;
    this.waiting = [];
    for (const look of waiting) look();
  }
}

const listed = (list: unknown): Trick =>
  list === undefined ? json({ errorCode: 'invalid_request', message: 'No such app.' }, 404) : json(list);

/** What came of a body; of one that was broken off, what there was. */
async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  } catch {
    return text;
  }
  return text;
}

/** An answer as the interface has them. */
export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Trick {
  return body(JSON.stringify(value), { 'content-type': 'application/json', ...headers }, status);
}

/** An answer in good HTTP with any body. */
export function body(
  bytes: string | Buffer,
  headers: Readonly<Record<string, string | string[]>>,
  status = 200,
): Trick {
  return (response) => response.writeHead(status, headers).end(bytes);
}

/** Bytes on the wire, whatever they are, after which the connection is closed unless more is to come. */
export function wire(bytes: string | Buffer, then: (socket: Socket) => void = (socket) => socket.end()): Trick {
  return ({ socket }) => {
    if (!socket) return;
    socket.write(bytes);
    then(socket);
  };
}

/** Resets the connection, which the peer observes as an error. */
export const reset = (socket: Socket): void => {
  socket.resetAndDestroy();
};
