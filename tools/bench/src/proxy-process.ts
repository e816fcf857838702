import fastify from 'fastify';
import { Agent, request } from 'undici';
import type { ProxyOptions } from './control.js';

/** As many as a gateway keeps. */
const CONNECTIONS = 64;

/** Forwards the bytes of its upstream: without parsing, authentication or logging. */
async function main({ upstream, headers, answerHeaders }: ProxyOptions): Promise<void> {
  const dispatcher = new Agent({ connections: CONNECTIONS });
  const server = fastify();
  server.get('/transfers/:id', async ({ url }, reply) => {
    const { statusCode, body } = await request(`${upstream}${url}`, { dispatcher, headers });
    return reply
      .code(statusCode)
      .headers(answerHeaders)
      .send(Buffer.from(await body.arrayBuffer()));
  });
  process.once('SIGTERM', () => {
    void server
      .close()
      .then(() => dispatcher.close())
      .then(() => process.exit(0));
  });
  process.send?.(await server.listen({ host: '127.0.0.1', port: 0 }));
}

process.once('message', (options) => void main(options as ProxyOptions));
