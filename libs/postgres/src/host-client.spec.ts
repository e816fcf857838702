import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { hostClient, CurrentHost } from './session-pool.js';

const AUTHENTICATION_OK = message('R', Buffer.from([0, 0, 0, 0]));
const READY_FOR_QUERY = message('Z', Buffer.from('I'));
const ADMIN_SHUTDOWN = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'));

/** A message of the protocol of PostgreSQL. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

describe('a client of a pool', () => {
  let server: Server;
  afterEach(() => server.close());

  it('fails without ending the process if the server ends the connection in the packet that accepts it', async () => {
    server = createServer((socket) => {
      socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATION_OK, READY_FOR_QUERY, ADMIN_SHUTDOWN])));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const current = new CurrentHost({ host: '127.0.0.1', port, user: 'app', database: 'app', ssl: false });

    const client = await new (hostClient(current, 5_000))({}).connect();

    await expect(client.query('select 1')).rejects.toThrow();
  });
});
