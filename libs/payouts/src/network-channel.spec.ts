import { networkChannel, traceNetwork, type NetworkMessage } from './network-channel.js';
import { SandboxRail } from './sandbox-rail/sandbox-rail.js';
import { payoutWorker } from './testing/workers.js';
import { openWorld, payOut, type World } from './testing/world.js';

let world: World;
let messages: (NetworkMessage & { readonly error?: unknown })[];
const listen = (message: unknown) => void messages.push(message as NetworkMessage);

beforeEach(async () => {
  world = await openWorld();
  messages = [];
  networkChannel.asyncEnd.subscribe(listen);
});
afterEach(async () => {
  networkChannel.asyncEnd.unsubscribe(listen);
  await world.close();
});

const operations = () => messages.map(({ operation }) => operation);

describe('the channel of the payment network', () => {
  it('publishes each call with its operation', async () => {
    await payOut(world);
    const worker = payoutWorker(world);
    await worker.step();
    await world.owner.query(`update sandbox_rail_event set due_at = now() - interval '1 minute'`);
    await worker.step();

    expect(new Set(operations())).toEqual(new Set(['receive', 'submit', 'acknowledge']));
    expect(messages.every(({ error }) => error === undefined)).toBe(true);
  });

  it('publishes a call that takes too long with its aborted signal', async () => {
    await payOut(world);
    const rail = Object.assign(Object.create(new SandboxRail(world.database)) as SandboxRail, {
      submit: () => new Promise(() => undefined),
    });
    await payoutWorker(world, { rail, deadline: () => AbortSignal.abort() }).step();

    const submit = messages.find(({ operation }) => operation === 'submit');
    expect([submit?.error, submit?.signal?.aborted]).toEqual([expect.any(Error), true]);
  });

  it('makes no message without a subscriber', async () => {
    networkChannel.asyncEnd.unsubscribe(listen);

    expect(await traceNetwork({ operation: 'find' }, async () => 7)).toBe(7);
    expect(messages).toEqual([]);
  });
});
