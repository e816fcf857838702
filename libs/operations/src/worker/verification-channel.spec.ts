import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { ContinuousVerification, verificationChannel } from './verify-continuously.js';

let at: OrderWorld;
let messages: unknown[];
const listen = (message: unknown) => void messages.push(message);

beforeEach(async () => {
  at = await orderWorld();
  messages = [];
  verificationChannel.subscribe(listen);
});
afterEach(async () => {
  verificationChannel.unsubscribe(listen);
  await at.world.close();
});

describe('the channel of the verification', () => {
  it('publishes each run with its outcome, also while payouts are stopped', async () => {
    const from = await at.account(1, '100000');
    const to = await at.near(await at.account(1, '0'));
    const pay = () => at.service.placeOrder(at.ada, at.order(from, to), at.key());
    const verification = new ContinuousVerification(at.world.database);

    await verification.verifyNew();
    await pay();
    await verification.verifyNew();
    await verification.verifyNext();
    await pay();
    await at.world.owner.query('begin');
    await at.world.owner.query('set local session_replication_role = replica');
    await at.world.owner.query('update account set balance = balance + 1 where id = $1', [from]);
    await at.world.owner.query('commit');
    await verification.verifyNew();
    await verification.verifyNew();

    expect(messages).toMatchObject([
      { subject: 'new', outcome: 'proven' },
      { subject: 'new', outcome: 'proven', rows: 1 },
      { subject: 'account', outcome: 'proven', rows: expect.any(Number) },
      { subject: 'transaction', outcome: 'proven', rows: expect.any(Number) },
      { subject: 'new', outcome: 'findings', rows: 0 },
      { subject: 'new', outcome: 'stopped', rows: 0 },
    ]);
  });
});
