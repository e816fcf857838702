import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Operation } from '../client-log.js';
import { sendUntilDone } from '../orders.js';
import { freePort, ServiceProcess } from '../processes.js';
import { noteFault, type Scenario, violationsOf } from '../scenario.js';
import { Preparation } from '../world.js';

/** Fewer than the failures in a row that open the circuit of the gateway. */
const CLIENTS = 4;
const RESET_SHARE = 3;
const PAUSE_MS = 250;
/** The user of a gateway in the demo data. */
const GATEWAY = 'gateway@northwind.example';

/**
 * Clients place orders through a gateway, whose connection to the upstream is reset after the upstream has the request. The gateway must
 * send no request twice: one attempt of a client is at most one request to the upstream.
 */
export const gateway: Scenario = {
  ...{ name: 'gateway', faults: ['upstream-reset'], phase: 'other', minutesMax: 0.7 },
  async run(context) {
    const { cluster, tally, log, signal, prefix, random } = context;
    const payment = await new Preparation(cluster.endpoint).pair();
    const proxy = await UpstreamProxy.start(cluster.url(0));
    const environment = {
      DATA_DIR: join(cluster.folder, 'data'),
      SANDBOX: 'on',
      UPSTREAM_URL: proxy.url,
      UPSTREAM_TOKEN: await cluster.newToken({ caller: GATEWAY }),
    };
    const logFile = join(cluster.folder, 'gateway.log');
    const process = new ServiceProcess({ app: 'api', name: 'gateway', port: await freePort(), logFile, environment });
    const sender = { endpoint: { token: cluster.token, url: () => process.url }, log };
    let placed = 0;
    const client = async () => {
      while (!signal.aborted) {
        const number = (placed += 1);
        const order = { ...payment, key: `${prefix}-${number}`, amount: String(random.between(1, 500)) };
        const isReset = number % RESET_SHARE === 0;
        if (isReset) proxy.resets.add(order.key);
        const { outcome } = await sendUntilDone(sender, order, () => 0, { pauseMs: () => PAUSE_MS });
        tally.countOperation(outcome === 'ok');
        if (outcome !== 'ok') continue;
        for (const figure of ['acknowledged', 'keys'] as const) tally.count(figure);
        if (isReset) await noteFault(context, 'upstream-reset', order.key);
      }
    };
    try {
      await process.start();
      await Promise.all(Array.from({ length: CLIENTS }, client));
      tally.violate('processes', ...process.ownEnds);
    } finally {
      await process.stop();
      await proxy.close();
    }
    const repeatsOf = ({ key, attempts }: Operation) => {
      const posts = proxy.posts.get(key) ?? 0;
      return posts > attempts ? [`${key} was sent ${attempts} times to the gateway, and ${posts} times upstream`] : [];
    };
    return { check: async (operations) => violationsOf('upstream', operations.flatMap(repeatsOf)) };
  },
};

/** An HTTP proxy between a gateway and its upstream. It counts the creations of each key, and resets connections. */
class UpstreamProxy {
  readonly posts = new Map<string, number>();
  readonly resets = new Set<string>();

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
