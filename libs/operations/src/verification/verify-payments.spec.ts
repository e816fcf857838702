import { keepRows, plant } from '@banking/postgres/testing';
import { verifyPlanted } from '../testing/order-world.js';
import { demoDatabase } from '../testing/test-databases.js';
import { EVENT_CHAIN } from './verify-events.js';
import { PAYMENT_CHECKS, REFERENCE_CHECK, verifyPayments } from './verify-payments.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let northwind: number;

let restore: () => Promise<void>;

afterEach(() => restore());

describe('verify payments', () => {
  beforeAll(async () => {
    world = await demoDatabase();
    northwind = world.demo.workspaces['Northwind Trading']!;
    restore = await keepRows(world.owner);
  });

  afterAll(() => world.close());

  const verify = () => verifyPlanted(world.database, Object.values(world.demo.workspaces));
  const RETURN = '(select id from transaction where return_of is not null)';
  const RETURNED = '(select return_of from transaction where return_of is not null)';

  describe('the verification of unchanged payments', () => {
    it('reports nothing', async () => {
      expect(await verify()).toEqual([]);
    });

    it('reports bookings without an order, unless they are listed', async () => {
      const findings = await verifyPayments(world.database, Object.values(world.demo.workspaces));
      const checks = findings.map(({ check }) => check);
      expect(checks.filter((check) => check === 'every payout is of an order')).toHaveLength(3);
      expect(checks.filter((check) => check.startsWith('every debit of a customer account'))).toHaveLength(4);
      expect(checks).toHaveLength(7);
    });
  });

  describe('the verification of very many faults', () => {
    // More than a call of a function takes as arguments.
    const COUNT = 150_000;

    it('reports each', async () => {
      await plant(
        world.owner,
        `insert into execution (workspace_id, id, order_id, sequence, status, scheduled_at)
         select ${northwind}, 1000000 + n, 1000000 + n, 1, 'cancelled', now() from generate_series(1, ${COUNT}) n`,
      );
      const reported = (await verify()).map(({ detail }) => detail);
      expect(new Set(reported).size).toBe(COUNT);
    });
  });

  describe('the verification of payments', () => {
    const [RETURNS, FAILED, EVENTS, PAYOUTS, LEAVING, UNQUEUED, UNFAILED] = PAYMENT_CHECKS as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const WITHOUT_ORDER = 'every payout is of an order';

    it.each([
      [
        'gives back more than was taken',
        `update transfer set amount = amount + 1 where transaction_id = ${RETURN}`,
        RETURNS,
      ],
      [
        'goes to another account',
        `update transfer set account_id = account_id + 1 where transaction_id = ${RETURN}`,
        [RETURNS, REFERENCE_CHECK.check],
      ],
      [
        'is in another currency',
        `update transfer set currency_id = 840 where transaction_id = ${RETURN}`,
        [RETURNS, REFERENCE_CHECK.check],
      ],
      [
        'takes the money again',
        `update transfer set direction = case direction when 'debit' then 'credit' else 'debit' end where transaction_id = ${RETURN}`,
        RETURNS,
      ],
      ['has the type of a funding', `update transfer set type = 'funding' where transaction_id = ${RETURN}`, RETURNS],
      [
        'gives back what was not taken',
        `update transfer set amount = amount - 1 where transaction_id = ${RETURNED} and type = 'payout'`,
        RETURNS,
      ],
      ['gives back the fee', `update transfer set type = 'payout' where transaction_id = ${RETURNED}`, RETURNS],
      [
        'is of another transaction',
        `update transaction set return_of = 999999999 where id = ${RETURN}`,
        [RETURNS, FAILED, EVENT_CHAIN.check],
      ],
      [
        'is missing for a failed transaction',
        `update transaction set status = 'failed' where status = 'pending'`,
        [FAILED, PAYOUTS],
      ],
      [
        'does not name its transaction',
        `update transaction set return_of = null where id = ${RETURN}`,
        [FAILED, EVENT_CHAIN.check],
      ],
      [
        'is of a transaction that was completed',
        `update transaction set status = 'completed' where id = ${RETURNED};
       update payout set status = 'settled' where transaction_id = ${RETURNED}`,
        [UNFAILED, 'every contradictory event has its discrepancy'],
      ],
    ])('reports a return that %s', async (_what, fault, checks) => {
      await plant(world.owner, fault);

      const findings = await verify();

      expect(findings.map(({ check }) => check).sort()).toEqual([checks].flat().sort());
      expect(new Set(findings.map(({ workspaceId }) => workspaceId))).toEqual(new Set([northwind]));
    });

    it('reports two returns of one transaction', async () => {
      await world.owner.query('drop index transaction_returned_once');
      await plant(
        world.owner,
        `
      with again as (
        insert into transaction (workspace_id, status, hash, return_of)
        select workspace_id, status, hash, return_of from transaction where id = ${RETURN}
        returning id)
      insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after)
      select t.workspace_id, again.id, account_id, currency_id, direction, amount, type, account_version + 1000, balance_after
      from again, transfer t where t.transaction_id = ${RETURN}`,
      );

      expect(await verify()).toEqual([
        { check: RETURNS, workspaceId: northwind, detail: expect.stringMatching(/has 2 returns$/) },
      ]);
    });

    it.each([
      [
        'an event without its payout',
        (id: number) =>
          `insert into remittance_event (workspace_id, transaction_id, provider_event, status) values (${id}, 999999999, 'e', 'ACSP')`,
        EVENTS,
      ],
      [
        'a payout without its transaction',
        (id: number) =>
          `insert into payout (workspace_id, transaction_id, rail, status) values (${id}, 999999999, 'sandbox', 'settled')`,
        [PAYOUTS, LEAVING, WITHOUT_ORDER],
      ],
    ])('reports %s', async (_what, fault, check) => {
      await plant(world.owner, fault(northwind));

      const findings = await verify();
      expect(findings.map(({ check: found }) => found).sort()).toEqual([check].flat().sort());
      const detail = expect.stringContaining('999999999');
      for (const finding of findings) expect(finding).toMatchObject({ workspaceId: northwind, detail });
    });

    const PENDING = `(select id from transaction where status = 'pending')`;

    it('reports no payout that is due and whose work is parked', async () => {
      await plant(
        world.owner,
        `update payout set status = 'due' where transaction_id = ${PENDING};
         insert into work (workspace_id, kind, subject_id, rail, parked_at)
         select workspace_id, 'payout', transaction_id, rail, now() from payout where status = 'due'`,
      );

      expect(await verify()).toEqual([]);
    });

    it.each([
      [
        'pending transaction has no payout',
        `delete from remittance_event where transaction_id = ${PENDING}; delete from payout where transaction_id = ${PENDING}`,
        [LEAVING, /^transaction \d+ leaves over a network and has no payout$/],
      ],
      [
        'transaction within the books has a payout',
        `insert into payout (workspace_id, transaction_id, rail, status) select workspace_id, transaction_id, 'sandbox', 'settled' from transfer
         where type = 'internal' and direction = 'debit' order by id limit 1`,
        [LEAVING, /^transaction \d+ has a payout and does not leave over a network$/],
      ],
      [
        'payout is settled and its transaction is not completed',
        `update payout set status = 'settled' where transaction_id = ${PENDING}`,
        [PAYOUTS, /is settled, the transaction pending$/],
      ],
      [
        'transaction is completed and its payout has failed',
        `update payout set status = 'failed' where status = 'settled' and transaction_id = (select max(transaction_id) from payout where status = 'settled')`,
        [PAYOUTS, /is failed, the transaction completed$/],
      ],
      [
        'due payout is not in the queue',
        `update payout set status = 'due' where transaction_id = ${PENDING}`,
        [UNQUEUED, /is due and not in the queue$/],
      ],
      [
        'parked payout is not parked in the queue',
        `update payout set status = 'parked', parked_at = now() where transaction_id = ${PENDING};
       insert into work (workspace_id, kind, subject_id, rail) select workspace_id, 'payout', transaction_id, rail from payout where status = 'parked'`,
        [UNQUEUED, /is parked and not in the queue$/],
      ],
    ] as const)('reports that a %s', async (_what, fault, [check, words]) => {
      await plant(world.owner, fault);

      expect(await verify()).toEqual([{ check, workspaceId: northwind, detail: expect.stringMatching(words) }]);
    });
  });
});
