import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The response to a request: a status with a body, or an action on the connection. */
export type Script =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | ((request: IncomingMessage, response: ServerResponse) => void);

/** Two users of one app: an admin of workspace 1, and a user without a role. */
const USERS = [
  {
    id: 1,
    email: 'ada@bank.example',
    status: 'completed',
    edges: { roles: [{ id: 1, role: 'admin', edges: { workspace: { id: 1, name: 'Bank' } } }] },
  },
  { id: 2, email: 'bob@bank.example', status: 'completed', edges: { roles: [] } },
];

const LISTS: Readonly<Record<string, Script>> = {
  'GET /apps': { status: 200, body: [{ id: 1, name: 'Bank' }] },
  'GET /apps/1/users': { status: 200, body: USERS },
};

/** An HTTP server that acts as another deployment of the interface, as the spec scripts it. */
export async function scriptedUpstream() {
  const scripts = new Map(Object.entries(LISTS));
  const received: { readonly method: string; readonly path: string; readonly headers: IncomingMessage['headers'] }[] =
    [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const [path = ''] = url.split('?');
    received.push({ method, path, headers });
    request.resume();
    const script = scripts.get(`${method} ${path}`) ?? { status: 404, body: 'nothing here' };
    if (typeof script === 'function') script(request, response);
    else request.on('end', () => send(response, script));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    /** @param call such as `GET /apps` */
    says(call: string, script: Script): void {
      scripts.set(call, script);
    },
    /** Restores the two lists, and deletes the received requests. */
    reset(): void {
      scripts.clear();
      for (const [call, script] of Object.entries(LISTS)) scripts.set(call, script);
      received.length = 0;
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, { status, body, headers }: Exclude<Script, (...args: never) => void>): void {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
  response.end(isText || body === undefined ? body : JSON.stringify(body));
}
