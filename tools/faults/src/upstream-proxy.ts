import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * An HTTP proxy between a gateway and its upstream. It counts the creations of each key, and resets connections after the upstream has
 * the request.
 */
export class UpstreamProxy {
  /** POST requests by their Idempotency-Key. */
  readonly posts = new Map<string, number>();
  private readonly resets = new Set<string>();

  private constructor(
    private readonly server: Server,
    private readonly upstream: string,
  ) {}

  static async start(upstream: string): Promise<UpstreamProxy> {
    const server = createServer();
    const proxy = new UpstreamProxy(server, upstream);
    server.on('request', (incoming, outgoing) => proxy.pass(incoming, outgoing));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resets the connection of the next request with this key, after the upstream has responded to it. */
  resetOnce(key: string): void {
    this.resets.add(key);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = 'GET', url = '/', headers, socket } = incoming;
    const key = String(headers['idempotency-key'] ?? '');
    if (method === 'POST') this.posts.set(key, (this.posts.get(key) ?? 0) + 1);
    const isReset = method === 'POST' && this.resets.delete(key);
    const sent = request(`${this.upstream}${url}`, { method, headers }, (response) => {
      if (isReset) {
        response.resume();
        socket.resetAndDestroy();
        return;
      }
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    sent.on('error', () => socket.destroy());
    incoming.pipe(sent);
  }
}
