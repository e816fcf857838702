import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A reverse proxy that serves a deployment under a path and removes that path before it forwards a request. */
export class PrefixProxy {
  /** Where the deployment listens. */
  target = '';

  private constructor(
    private readonly server: Server,
    private readonly prefix: string,
  ) {}

  static async start(prefix: string): Promise<PrefixProxy> {
    const server = createServer();
    const proxy = new PrefixProxy(server, prefix);
    server.on('request', (asked: IncomingMessage, reply: ServerResponse) => proxy.forward(asked, reply));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Where callers reach the deployment. */
  get url(): string {
    return `${this.origin}${this.prefix}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.server.close(), 'close');
    this.server.closeAllConnections();
    await closed;
  }

  private forward(asked: IncomingMessage, reply: ServerResponse): void {
    const { url = '', method, headers } = asked;
    if (!url.startsWith(`${this.prefix}/`)) {
      reply.writeHead(421).end('not below the prefix');
      return;
    }
    const onward = request(`${this.target}${url.slice(this.prefix.length)}`, { method, headers }, (response) => {
      reply.writeHead(response.statusCode ?? 502, response.rawHeaders);
      response.pipe(reply);
    });
    onward.on('error', () => reply.destroy());
    asked.pipe(onward);
  }
}
