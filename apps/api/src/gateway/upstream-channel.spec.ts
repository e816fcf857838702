import { circuitChannel, upstreamChannel } from '@banking/telemetry';
import { READ, refused, scriptedGateway } from './testing/scripted-gateway.js';

let gateway: Awaited<ReturnType<typeof scriptedGateway>>;
let messages: Record<string, unknown>[];
const listen = (message: unknown) => void messages.push({ ...(message as object) });

beforeAll(async () => {
  gateway = await scriptedGateway();
});
beforeEach(async () => {
  await gateway.reset();
  messages = [];
  upstreamChannel.asyncEnd.subscribe(listen);
  circuitChannel.subscribe(listen);
});
afterEach(() => {
  upstreamChannel.asyncEnd.unsubscribe(listen);
  circuitChannel.unsubscribe(listen);
});
afterAll(() => gateway.close());

describe('the channels of a gateway', () => {
  it('publish a request to the upstream with its operation and status, and no address', async () => {
    await gateway.responseTo(READ, refused(404, 'transfer_not_found'));

    expect(messages).toMatchObject([
      { operation: 'getTransfer', method: 'GET', isOfCaller: true, result: { status: 404 } },
    ]);
    expect(Object.keys(messages[0]!).sort()).toEqual(['isOfCaller', 'method', 'operation', 'result']);
  });

  it('publish that the circuit opens', async () => {
    for (let failures = 0; failures < 5; failures += 1) await gateway.responseTo(READ, refused(503, 'unavailable'));

    expect(messages.filter(({ state }) => state !== undefined)).toEqual([{ state: 'open' }]);
  });
});
