import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ADA, BOB, GATEWAY, localToken, type Service } from '../service.js';
import { type HttpResponse, type RequestOptions, sendRequest } from '../responses.js';
import { secretsIn } from '../log-lines.js';
import { newDataDir, type RunningService } from '../running-service.js';
import { startGateway } from './stacked-services.js';

/** A complete request as received. */
interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Handles a request. It may use the socket, to send what is not HTTP. */
export type Behaviour = (response: ServerResponse, received: ReceivedRequest) => void;

/** A valid or invalid user list. */
type UserList = unknown;

const role = (id: number, name: string, workspace: number) => ({
  id,
  role: name,
  edges: { workspace: { id: workspace, name: `Workspace ${workspace}` } },
});

/** Ada is an admin of workspace 1, Bob a member. */
export const PEOPLE: readonly unknown[] = [
  { id: 1, email: ADA, status: 'completed', edges: { roles: [role(1, 'admin', 1)] } },
  { id: 2, email: BOB, status: 'completed', edges: { roles: [role(2, 'member', 1)] } },
];
export const roleIn = role;

/**
 * An upstream that lets a gateway start and identify its callers, and responds to every other request as the spec sets it.
 */
export class HostileUpstream {
  /** The requests, without those of the gateway for user lists. */
  readonly received: ReceivedRequest[] = [];
  /** The number of reads of user lists. */
  listsRead = 0;
  /** Of app 1. */
  users: UserList = PEOPLE;
  usersOf2: UserList = [];
  apps: unknown = [{ id: 1, name: 'App 1' }];
  /** Overrides the responses of the lists if it is set. */
  listsBehaviour: Behaviour | undefined;
  behaviour: Behaviour = json([]);
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

  /** Resolves when the condition is true. It is checked after each request. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** Closes the server and its connections. */
  async stop(): Promise<void> {
    const closed = once(this.server.close(), 'close');
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  async restart(): Promise<void> {
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
    const received: ReceivedRequest = { method, path, headers, body };
    const isList = path === '/apps' || /^\/apps\/\d+\/users$/.test(path);
    if (path.endsWith('/users')) this.listsRead += 1;
    if (!isList) this.received.push(received);
    const behaviour = isList ? (this.listsBehaviour ?? listed(this.listAt(path))) : this.behaviour;
    behaviour(response, received);
    const waiting = this.waiting;
    this.waiting = [];
    for (const check of waiting) check();
  }
}

const listed = (list: unknown): Behaviour =>
  list === undefined ? json({ errorCode: 'invalid_request', message: 'No such app.' }, 404) : json(list);

/** The body of a request, or its first part if the connection breaks. */
async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  } catch {
    return text;
  }
  return text;
}

/** A JSON response. */
export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Behaviour {
  return body(JSON.stringify(value), { 'content-type': 'application/json', ...headers }, status);
}

/** A valid HTTP response with any body. */
export function body(
  bytes: string | Buffer,
  headers: Readonly<Record<string, string | string[]>>,
  status = 200,
): Behaviour {
  return (response) => response.writeHead(status, headers).end(bytes);
}

/** Any bytes on the connection, which is then closed by default. */
export function wire(bytes: string | Buffer, then: (socket: Socket) => void = (socket) => socket.end()): Behaviour {
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

/** Log lines of an error in the gateway itself. A failure of the upstream is logged as an error, but not as one of these. */
const MISTAKE = /"msg":"unhandled error"|^\{"level":"fatal"|unhandledRejection|uncaughtException|Warning:/;

/** Long enough for a response on a busy machine, and short enough for a spec to wait for the timeout. */
const UPSTREAM_TIMEOUT_MS = '1000';

/** A gateway in front of a hostile upstream. Each request has an id, by which its log lines are found. */
export class AttackedGateway {
  private requests = 0;
  private checkedLength = 0;

  private constructor(
    readonly upstream: HostileUpstream,
    readonly gateway: RunningService,
    readonly dataDir: string,
    /** The credential that the gateway sends to the upstream. */
    readonly token: string,
    private readonly remove: () => Promise<void>,
  ) {}

  static async start(environment: Readonly<Record<string, string>> = {}): Promise<AttackedGateway> {
    const { path: dataDir, remove } = await newDataDir();
    const upstream = await HostileUpstream.start();
    const token = await localToken(dataDir, GATEWAY);
    const limits = { UPSTREAM_TIMEOUT_MS, UPSTREAM_TOKEN: token, LOG_LEVEL: 'trace' };
    const gateway = await startGateway({ dataDir, upstream: upstream.url, environment: { ...limits, ...environment } });
    return new AttackedGateway(upstream, gateway, dataDir, token, remove);
  }

  get service(): Service {
    const none = { apps: {}, users: {}, workspaces: {}, accounts: {}, recipients: {}, transfers: {} };
    return { url: this.gateway.url, world: none, tokenOf: (email) => localToken(this.dataDir, email) };
  }

  /** Sends a request as Ada in workspace 1 by default. Fails if the OpenAPI document omits the status of the response. */
  sendRequest(path: string, options: RequestOptions = {}): Promise<HttpResponse> {
    return sendRequest(this.service, path, { as: ADA, workspace: 1, ...options });
  }

  /** Sends a request, and returns its log lines with the response. */
  async requestAndReadLog(
    path: string,
    options: RequestOptions = {},
  ): Promise<HttpResponse & { readonly lines: readonly string[] }> {
    const id = `request-${(this.requests += 1)}.`;
    const response = await this.sendRequest(path, { ...options, headers: { 'x-request-id': id, ...options.headers } });
    await this.gateway.logged(new RegExp(`"requestId":"${id}","method".*\n`));
    return { ...response, lines: this.gateway.log.split('\n').filter((line) => line.includes(`"${id}"`)) };
  }

  /** The lines since the last call that contain a secret or an unhandled error. */
  wrongLines(): readonly string[] {
    const log = this.gateway.log.slice(this.checkedLength);
    this.checkedLength += log.length;
    return [...secretsIn(log), ...log.split('\n').filter((line) => MISTAKE.test(line))];
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
    await this.remove();
  }
}
