import fastify from 'fastify';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { Pool } from 'pg';
import { Agent, request } from 'undici';

/** A bare Fastify in a process of its own: no access checks and no log. */
export interface ControlOptions {
  /** Bodies by path, sent from memory. */
  readonly recorded?: Readonly<Record<string, string>>;
  /** A database whose transfers it reads with statements of its own. */
  readonly dataDir?: string;
  /** Another service, whose transfers it forwards unread. */
  readonly upstream?: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
}

/** As many as the service, and a gateway, have. */
const DATABASE_CONNECTIONS = 8;
const UPSTREAM_CONNECTIONS = 64;

/** What an own service on the same tables would read: a transfer with its account and transaction, without row-level security. */
const TRANSFER = `
  json_build_object('id', t.id, 'amount', t.amount, 'description', t.description, 'direction', t.direction, 'type', t.type,
    'createdAt', t.created_at, 'edges', json_build_object('account', to_json(a), 'transaction', to_json(x)))`;
const JOINED = `
  transfer t join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
  join transaction x on (x.workspace_id, x.id) = (t.workspace_id, t.transaction_id)
  where t.workspace_id = 1 and t.account_version is not null`;
const ONE = { name: 'one', text: `select ${TRANSFER}::text as json from ${JOINED} and t.id = $1` };
const PAGE = {
  name: 'page',
  text: `select json_agg(json)::text as json from (select ${TRANSFER} as json from ${JOINED} order by t.id desc limit $1) p`,
};

async function main({ recorded = {}, dataDir, upstream }: ControlOptions): Promise<void> {
  const server = fastify();
  const closing: (() => Promise<unknown>)[] = [() => server.close()];
  if (dataDir !== undefined) {
    const embedded = await attachEmbeddedServer({ dataDir });
    const options = '-c search_path=banking -c jit=off';
    const pool = new Pool({ ...embedded.connection, max: DATABASE_CONNECTIONS, options });
    closing.push(
      () => pool.end(),
      () => embedded.detach(),
    );
    const read = async (query: object, value: string) =>
      (await pool.query<{ json: string }>({ ...query, values: [value] } as never)).rows[0]?.json;
    server.get<{ Params: { id: string } }>('/transfers/:id', async ({ params }, reply) =>
      reply.type('application/json').send(await read(ONE, params.id)),
    );
    server.get<{ Querystring: { limit: string } }>('/transfers', async ({ query }, reply) =>
      reply.type('application/json').send(await read(PAGE, query.limit)),
    );
  }
  if (upstream !== undefined) {
    const dispatcher = new Agent({ connections: UPSTREAM_CONNECTIONS });
    closing.push(() => dispatcher.close());
    server.get('/transfers/:id', async ({ url }, reply) => {
      const { statusCode, body } = await request(`${upstream.url}${url}`, { dispatcher, headers: upstream.headers });
      return reply
        .code(statusCode)
        .type('application/json')
        .send(Buffer.from(await body.arrayBuffer()));
    });
  }
  for (const [path, body] of Object.entries(recorded)) {
    const bytes = Buffer.from(body);
    server.get(path, (_request, reply) => reply.type('application/json').send(bytes));
  }
  const close = async () => {
    for (const step of closing) await step();
    process.exit(0);
  };
  process.once('SIGTERM', () => void close());
  process.send?.(await server.listen({ host: '127.0.0.1', port: 0 }));
}

process.once('message', (options) => void main(options as ControlOptions));
