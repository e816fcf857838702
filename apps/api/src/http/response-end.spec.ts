import { connect } from 'node:net';
import fastify from 'fastify';
import { until } from '@banking/postgres/testing';
import { isResponseOver, onResponseEnd } from './response-end.js';

/** A server whose responses are sent by hand, and the requests whose responses have ended. */
async function listening() {
  const server = fastify();
  const arrived: (() => void)[] = [];
  const over: boolean[] = [];
  let ended = 0;
  server.get('/', (_request, reply) => {
    onResponseEnd(reply, () => {
      ended += 1;
      over.push(isResponseOver(reply));
    });
    arrived.push(() => void reply.send('ok'));
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const [{ port } = { port: 0 }] = server.addresses();
  return {
    server,
    arrived,
    over,
    connect: () => connect(port, '127.0.0.1').on('error', () => undefined),
    ended: () => ended,
  };
}

const GET = 'GET / HTTP/1.1\r\nhost: bank.example\r\n\r\n';

describe('onResponseEnd', () => {
  it('reports each response of a pipeline once, when it has been sent', async () => {
    const { server, arrived, connect, ended } = await listening();
    const client = connect();
    client.resume().write(GET.repeat(2));
    await until(() => arrived.length === 2);

    arrived[0]?.();
    await until(() => ended() === 1);
    arrived[1]?.();
    await until(() => ended() === 2);

    client.destroy();
    await server.close();
    expect(ended()).toBe(2);
  });

  it('reports the responses that wait behind another one when the connection is closed', async () => {
    const { server, arrived, connect, ended, over } = await listening();
    const client = connect();
    client.write(GET.repeat(3));
    await until(() => arrived.length === 3);

    client.destroy();

    await until(() => ended() === 3);
    expect(over).toEqual([true, true, true]);
    await server.close();
  });
});
