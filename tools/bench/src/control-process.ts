import fastify from 'fastify';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import type { ControlOptions } from './control.js';
import { leanTransfers } from './lean-transfer.js';

/** As many as the service has. */
const CONNECTIONS = 8;

async function main({ dataDir, answers, transferHeaders, pageHeaders = {} }: ControlOptions): Promise<void> {
  const embedded = await attachEmbeddedServer({ dataDir });
  const transfers = await leanTransfers(embedded.connection, CONNECTIONS);
  const server = fastify();
  server.get<{ Params: { id: string } }>('/transfers/:id', async ({ params }, reply) =>
    reply.headers(transferHeaders).send(await transfers.read(params.id)),
  );
  // As bytes: Node would join a text with the head, and reserve three bytes for each of its characters.
  server.get<{ Querystring: { limit: string } }>('/transfers', async ({ query: { limit } }, reply) =>
    reply.headers(pageHeaders[limit] ?? {}).send(Buffer.from(await transfers.page(limit))),
  );
  for (const [path, { headers, body }] of Object.entries(answers)) {
    const bytes = Buffer.from(body);
    server.get(path, (_request, reply) => reply.headers(headers).send(bytes));
  }
  process.once('SIGTERM', () => {
    void server
      .close()
      .then(() => transfers.end())
      .then(() => embedded.detach())
      .then(() => process.exit(0));
  });
  process.send?.(await server.listen({ host: '127.0.0.1', port: 0 }));
}

process.once('message', (options) => void main(options as ControlOptions));
