import { World } from './testing/world.js';

/** What the books lose here, a restore to an earlier moment loses; the network of the demo data keeps its payments. */
const world = new World();
let open: { readonly id: number; readonly key: string };

const KEY = `concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce)`;

beforeAll(async () => {
  await world.openDemo();
  const [row] = await world.query(`
    with waiting as (
      update payout set status = 'submitting', tries = 0 where status = 'submitted' returning workspace_id, transaction_id)
    insert into work (workspace_id, kind, subject_id, due_at)
    select workspace_id, 'payout', transaction_id, '2999-01-01' from waiting
    order by 1, 3 limit 1 returning subject_id::int as id`);
  const [payout] = await world.query(`select ${KEY} as key from payout p where p.transaction_id = $1`, row!.id);
  open = { id: Number(row!.id), key: String(payout!.key) };
});
afterAll(() => world.close());

/** A payment that the network has accepted and whose events it has delivered. */
async function submitted(key: string, status: string) {
  await world.query(
    `with s as (
       select p.workspace_id, p.transaction_id, s.amount, c.code from payout p
       join transfer s on s.transaction_id = p.transaction_id and s.direction = 'credit'
       join account o on o.workspace_id = s.workspace_id and o.id = s.account_id and o.kind = 'settlement'
       join currency c on c.id = s.currency_id
       where p.transaction_id = $2)
     insert into sandbox_rail_payment (key, amount, currency) select $1, amount, code from s`,
    key,
    open.id,
  );
  await world.query(
    `insert into sandbox_rail_event (key, position, provider_event, status, due_at, acknowledged)
     values ($1, 0, 'e-1', $2, now(), true)`,
    key,
    status,
  );
}

describe('banking work reconcile', () => {
  it('reports books that agree with the network', async () => {
    const { exitCode, stdout, stderr } = await world.run(['work', 'reconcile']);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^open payouts +1$/m);
    expect(stdout).toMatch(/^open payouts that the network does not have: a worker submits them +1$/m);
  });

  it('lists the events that the books lack, and records them with --apply only', async () => {
    await submitted(open.key, 'ACCC');

    const { exitCode, stdout } = await world.run(['work', 'reconcile']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`^ +1 +${open.id} +submitting +ACCC$`, 'm'));
    expect(stdout).toContain('Nothing was changed.');

    const lagging = [{ workspaceId: 1, transactionId: open.id, status: 'submitting', newEvents: ['ACCC'] }];
    expect(await world.json('work', 'reconcile', '--apply')).toMatchObject({
      isApplied: true,
      lagging,
      differences: [],
    });
    expect(await world.query('select status from payout where transaction_id = $1', open.id)).toEqual([
      { status: 'settled' },
    ]);
    expect(await world.json('work', 'reconcile', '--apply')).toMatchObject({ openPayouts: 0, lagging: [] });
    expect((await world.run(['verify'])).exitCode).toBe(0);
  });

  it('lists a payment that the books do not have with its amount, and exits with 1', async () => {
    await submitted('payout-1-777777-0123456789ab', 'ACCC');

    for (const args of [[], ['--apply']]) {
      const { exitCode, stdout, stderr } = await world.run(['work', 'reconcile', ...args]);

      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'An operator must decide one difference.\n' });
      expect(stdout).toMatch(
        /1 +777777 +[0-9]+\.[0-9]{2} [A-Z]{3} +the books have no such payout .+ ACCC +payout-1-777777-0123456789ab$/m,
      );
    }
    const { exitCode, stdout } = await world.run(['work', 'reconcile', '--json', '--since', '2999-01-01T00:00:00Z']);
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { payments: 0, differences: [] }]);
  });

  it.each(['yesterday', '2026-11-21', '2026-13-41T00:00:00Z'])('refuses the time %j', async (time) => {
    const { exitCode, stderr } = await world.run(['work', 'reconcile', '--since', time]);

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/Write a time with its offset/);
  });

  it('is refused where there is no payment network', async () => {
    const live = new World();
    await live.open();
    const environment = { SANDBOX: 'off', OIDC_ISSUER: 'https://login.example', OIDC_AUDIENCE: 'banking' };
    await live.run(['migrate'], environment);

    const { exitCode, stderr } = await live.run(['work', 'reconcile'], environment);
    await live.close();

    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: 'This deployment has no payment network. There is nothing to compare.\n',
    });
  });
});
