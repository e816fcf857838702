import type { Discrepancy } from '@banking/payouts';
import type { QueuedWork } from '@banking/work-queue';
import { OPERATOR, World } from './testing/world.js';

describe('work of an operator', () => {
  const world = new World();

  beforeAll(() => world.openDemo());
  afterAll(() => world.close());

  describe('banking discrepancy', () => {
    let credited: Discrepancy;
    let rejected: Discrepancy;

    beforeAll(async () => {
      // A late credit of a rejected payout, and a late rejection of a credited one.
      for (const [status, event, kind] of [
        ['completed', 'RJCT', 'credited_then_rejected'],
        ['failed', 'ACCC', 'rejected_then_credited'],
      ]) {
        await world.query(
          `with late as (
         insert into remittance_event (workspace_id, transaction_id, provider_event, status, reason_code)
         select p.workspace_id, p.transaction_id, 'late', $2, 'AC04' from payout p join transaction x on x.id = p.transaction_id
         where x.status = $1 order by x.id limit 1 returning *)
       insert into discrepancy (workspace_id, transaction_id, kind, event_id)
       select late.workspace_id, late.transaction_id, $3, late.id from late`,
          ...[status, event, kind],
        );
      }
      [credited, rejected] = await world.json<[Discrepancy, Discrepancy]>('discrepancy', 'list');
    });
    const resolve = (id: number, ...how: readonly string[]) =>
      world.run(['discrepancy', 'resolve', String(id), '--workspace', '1', ...how]);

    it('appears in banking work list', async () => {
      const { stdout } = await world.run(['work', 'list', '--parked']);

      expect(stdout).toMatch(
        new RegExp(
          `discrepancy +${credited.id} +open +0 .+ credited_then_rejected, transaction ${credited.transactionId}`,
        ),
      );
      const list = await world.json<QueuedWork[]>('work', 'list');
      expect(list.filter(({ kind }) => kind === 'discrepancy').map(({ subjectId }) => subjectId)).toEqual([
        credited.id,
        rejected.id,
      ]);
    });

    it('lists each discrepancy with the events of its payout', async () => {
      const { stdout } = await world.run(['discrepancy', 'list', '--workspace', '1']);

      expect(stdout).toMatch(/credited_then_rejected .+ ACSP G000, .+, ACCC, RJCT AC04$/m);
      expect(stdout).toMatch(/rejected_then_credited .+ RJCT AC04, ACCC AC04$/m);
      expect(stdout).toMatch(
        new RegExp(`${credited.transactionId} +${credited.accountId} +[0-9]+\\.[0-9]{2} [A-Z]{3} +credited`),
      );
    });

    it.each([
      [[], 1, 'The resolution is missing. Add --return'],
      [['--dismiss'], 1, 'A dismissal needs a reason. Add --note'],
      [['--return', '--reclaim'], 2, 'cannot be used with option'],
      [['--reclaim'], 1, 'cannot be reclaimed: its kind'],
      [['--dismiss', '--note', 'x'.repeat(501)], 1, 'The note has 501 characters. At most 500 are allowed.'],
    ])('refuses to resolve with %j, and states the reason', async (how, exitCode, words) => {
      const ended = await resolve(credited.id, ...how);

      expect(ended).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(words) });
    });

    it('moves the money once, and lists the discrepancy as resolved', async () => {
      const { exitCode, stdout } = await resolve(credited.id, '--return', '--note', 'ticket 4711');
      expect({ exitCode, stdout }).toEqual({
        exitCode: 0,
        stdout: expect.stringMatching(
          new RegExp(
            `^Resolved discrepancy ${credited.id} of workspace 1: the money was returned to the customer, by transaction \\d+\\.\n$`,
          ),
        ),
      });

      expect(await resolve(credited.id, '--return')).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('is resolved already'),
      });
      expect(await resolve(rejected.id, '--reclaim')).toMatchObject({ exitCode: 0 });
      expect(await world.json('discrepancy', 'list')).toEqual([]);
      expect(await world.json('discrepancy', 'list', '--all')).toMatchObject([
        { id: credited.id, resolution: 'returned', resolvedBy: OPERATOR, note: 'ticket 4711' },
        { id: rejected.id, resolution: 'reclaimed', resolvedBy: OPERATOR },
      ]);
      const { exitCode: verified, stdout: proof } = await world.run(['verify']);
      expect([verified, proof]).toEqual([0, expect.stringContaining('The books are in order.')]);
      expect(
        await world.query(
          `select e -> 'actor' ->> 'name' as name, (e ->> 'resourceId')::int as id
         from audit_outbox cross join jsonb_array_elements(entries) e where e ->> 'operation' = 'resolveDiscrepancy'`,
        ),
      ).toEqual([
        { name: OPERATOR, id: credited.id },
        { name: OPERATOR, id: rejected.id },
      ]);
    });

    it('refuses a discrepancy of another workspace and an unknown one', async () => {
      const { exitCode, stderr } = await resolve(999_999, '--return');

      expect({ exitCode, stderr }).toEqual({
        exitCode: 1,
        stderr: 'There is no discrepancy 999999 of workspace 1. See banking discrepancy list.\n',
      });
    });
  });

  describe('work', () => {
    let parked: QueuedWork;

    beforeAll(async () => {
      await world.query(`
    with waiting as (
      update payout set status = 'parked', parked_at = now(), reason = 'the network is unreachable'
      where status = 'submitted' returning workspace_id, transaction_id)
    insert into work (workspace_id, kind, subject_id, rail, tries, parked_at, reason)
    select workspace_id, 'payout', transaction_id, 'sandbox', 10, now(), 'the network is unreachable' from waiting`);
      await world.query(
        `insert into work (workspace_id, kind, subject_id, due_at) values (1, 'other', 5, '2999-01-01')`,
      );
      [parked] = (await world.json('work', 'list', '--parked')) as [QueuedWork];
    });
    describe('banking work', () => {
      it('lists parked work first, with its reason', async () => {
        expect(parked).toMatchObject({
          workspaceId: 1,
          kind: 'payout',
          state: 'parked',
          tries: 10,
          reason: 'the network is unreachable',
        });

        const { stdout } = await world.run(['work', 'list']);

        const [, first, ...others] = stdout.split('\n');
        expect(first).toMatch(new RegExp(`payout +${parked.subjectId} +parked +10 +0 .+ the network is unreachable$`));
        expect(others).toContainEqual(expect.stringMatching(/other +5 +waiting +0 +0 +2999-01-01T00:00:00.000000Z$/));
      });

      it.each([
        ['is not parked', ['other', '5'], /^The other 5 of workspace 1 is not parked\. See banking work list\.$/m],
        ['is not there', ['payout', '999999'], /^The payout 999999 of workspace 1 is not parked/m],
        ['has no id', ['payout', 'x1'], /Write an id as digits/],
      ])('refuses to retry work that %s', async (_what, args, words) => {
        const { exitCode, stderr } = await world.run(['work', 'retry', ...args, '--workspace', '1']);

        expect(exitCode).not.toBe(0);
        expect(stderr).toMatch(words);
      });

      it('releases parked work and its payout, due now', async () => {
        const id = String(parked.subjectId);

        const { exitCode, stdout } = await world.run(['work', 'retry', 'payout', id, '--workspace', '1']);

        expect({ exitCode, stdout }).toEqual({
          exitCode: 0,
          stdout: `Released payout ${id} of workspace 1, due now.\n`,
        });
        const released = { kind: 'payout', subjectId: parked.subjectId, state: 'waiting', tries: 0 };
        expect(await world.json('work', 'list')).toContainEqual(expect.objectContaining(released));
        expect(await world.query('select status from payout where transaction_id = $1', id)).toEqual([
          { status: 'due' },
        ]);
        expect((await world.run(['verify'])).exitCode).toBe(0);
        expect(
          await world.query(
            `select e ->> 'operation' as operation, e ->> 'resourceType' as type, e -> 'actor' ->> 'type' as actor,
           (e -> 'actor') ? 'operatingSystemUser' as has_account
         from audit_outbox cross join jsonb_array_elements(entries) e where e ->> 'operation' = 'releaseWork'`,
          ),
        ).toEqual([{ operation: 'releaseWork', type: 'payout', actor: 'operator', has_account: true }]);
      });

      it.each([
        ['nothing is named', [], /arguments kind and id, or --all, are missing/],
        [
          'a kind is named without an id',
          ['payout', '--workspace', '1'],
          /arguments kind and id, or --all, are missing/,
        ],
        ['a piece is named without its workspace', ['payout', '1'], /required option '--workspace <id>' not specified/],
        ['a piece is named besides all', ['payout', '1', '--all'], /option '--all' takes no arguments/],
        [
          'a piece is named with the option of all',
          ['payout', '1', '--workspace', '1', '--kind', 'payout'],
          /option '--kind <kind>' requires '--all'/,
        ],
        [
          'the kind is none',
          ['--all', '--kind', 'executions'],
          /argument 'executions' is invalid\. Allowed choices are execution, approval, payout, crossing/,
        ],
      ])('retries nothing if %s, with exit code 2', async (_what, args, words) => {
        const { exitCode, stderr } = await world.run(['work', 'retry', ...args]);

        expect(exitCode).toBe(2);
        expect(stderr).toMatch(words);
      });
    });

    describe('banking work retry --all', () => {
      const PARKED = 'select count(*)::int as count from work where parked_at is not null';

      beforeAll(() =>
        world.query(`
      insert into work (workspace_id, kind, subject_id, tries, parked_at, reason)
      select case when n <= 3 then 2 else 1 end, case when n <= 1203 then 'execution' else 'other' end, 700000 + n, 10, now(), 'closed'
      from generate_series(1, 1210) n`),
      );

      it('releases the work of one workspace only', async () => {
        expect(await world.json('work', 'retry', '--all', '--workspace', '2', '--kind', 'execution')).toEqual({
          released: 3,
        });

        const released = await world.query(
          'select workspace_id from work where subject_id > 700000 and parked_at is null',
        );
        expect(released.map(({ workspace_id }) => Number(workspace_id))).toEqual([2, 2, 2]);
      });

      it('releases the work of one kind over time, with no tries counted', async () => {
        const { exitCode, stdout } = await world.run(['work', 'retry', '--all', '--kind', 'execution']);

        expect({ exitCode, stdout }).toEqual({
          exitCode: 0,
          stdout: 'Released 1200 pieces of work, at 100 a second.\n',
        });
        const [spread] = await world.query(`
      select max(count)::int as most, count(*)::int as seconds, sum(tries)::int as tries from (
        select count(*), sum(tries) as tries from work
        where kind = 'execution' and workspace_id = 1 and subject_id > 700000 and parked_at is null
        group by date_trunc('second', due_at)) s`);
        expect(spread).toMatchObject({ tries: 0 });
        expect(Number(spread!.seconds)).toBeGreaterThanOrEqual(12);
        expect(Number(spread!.most)).toBeLessThanOrEqual(200);
        expect(await world.query(`${PARKED} and kind = 'other'`)).toEqual([{ count: 7 }]);
      });

      it('releases all parked work and its payouts', async () => {
        await world.run(['work', 'retry', '--all']);

        expect(await world.query(PARKED)).toEqual([{ count: 0 }]);
        expect(await world.query(`select count(*)::int as count from payout where status = 'parked'`)).toEqual([
          { count: 0 },
        ]);
        expect(await world.query(`select count(*)::int as count from payout where status = 'due'`)).not.toEqual([
          { count: 0 },
        ]);
        expect((await world.run(['work', 'retry', '--all'])).stdout).toBe('No work is parked.\n');
        await world.query(`delete from work where subject_id > 700000`);
        expect((await world.run(['verify'])).exitCode).toBe(0);
      });
    });
  });
});

describe('banking work reconcile', () => {
  /** What the books lose here, a restore to an earlier moment loses; the network of the demo data keeps its payments. */
  const world = new World();
  let open: { readonly id: number; readonly key: string };

  const KEY = `concat_ws('-', 'payout', p.workspace_id, p.transaction_id, p.key_nonce)`;

  beforeAll(async () => {
    await world.openDemo();
    const [row] = await world.query(`
    with waiting as (
      update payout set status = 'submitting', tries = 0, accepted_at = null where status = 'submitted' returning workspace_id, transaction_id)
    insert into work (workspace_id, kind, subject_id, rail, due_at)
    select workspace_id, 'payout', transaction_id, 'sandbox', '2999-01-01' from waiting
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
       join leg s on s.transaction_id = p.transaction_id and s.direction = 'credit'
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

  it('reports books that agree with the network', async () => {
    const { exitCode, stdout, stderr } = await world.run(['work', 'reconcile']);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^open payouts +1$/m);
    expect(stdout).toMatch(/^open payouts that the network does not have: a worker submits them +1$/m);
    expect(stdout).toMatch(/^open payouts that the network does not have: they wait for an approval +0$/m);
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
    await world.query('update deployment_mode set is_sandbox = false');
    const environment = { SANDBOX: 'off', OIDC_ISSUER: 'https://login.example', OIDC_AUDIENCE: 'banking' };

    const { exitCode, stderr } = await world.run(['work', 'reconcile'], environment);

    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: 'This deployment has no payment network. There is nothing to compare.\n',
    });
  });
});
