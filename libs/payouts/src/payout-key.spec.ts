import { payoutKey } from './payout-key.js';
import { REJECTED, Restored } from './testing/restored.js';
import { payoutWorker } from './testing/workers.js';
import { NORTH, keyOf, payOut, type World } from './testing/world.js';

let restored: Restored;
let world: World;

beforeEach(async () => {
  restored = await Restored.open();
  ({ world } = restored);
});
afterEach(() => restored.close());

describe('a payout after a restore', () => {
  it('is another payment than a lost payout whose transaction had the same id', async () => {
    const [before] = (await payOut(world)) as [number];
    const lost = payoutKey({ workspaceId: NORTH, transactionId: before, nonce: '0123456789ab' });
    await restored.submitEarlier(lost, REJECTED);

    const worker = payoutWorker(world, { rail: restored.rail });
    await worker.step();
    await restored.passHour();
    await worker.step();

    expect(await restored.payments()).toHaveLength(2);
    expect(await restored.stateOf(before)).toMatchObject({ status: 'completed', payout: 'settled', events: 3 });
    expect((await restored.reconcile()).differences).toMatchObject([{ kind: 'payment_not_in_books', key: lost }]);
  });

  it('is asked for by key before its first submission when it has waited for longer than a minute', async () => {
    const [id] = (await payOut(world)) as [number];
    await restored.submitEarlier(await keyOf(world, id));
    await world.owner.query(`
      alter table payout disable trigger legal_step;
      update payout set created_at = created_at - interval '2 minutes';
      alter table payout enable trigger legal_step`);

    await payoutWorker(world, { rail: restored.rail }).step();

    expect(await restored.payments()).toMatchObject([{ submissions: 1 }]);
    expect(await restored.stateOf(id)).toMatchObject({ payout: 'submitted', tries: 1 });
  });

  it('keeps the random part of its key', async () => {
    await payOut(world);

    await expect(world.owner.query(`update payout set key_nonce = null`)).rejects.toMatchObject({ code: 'BK003' });
  });
});
