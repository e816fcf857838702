import { OPERATOR, World } from './testing/world.js';

const world = new World();

beforeAll(() => world.openDemo());
afterAll(() => world.close());

describe('payouts', () => {
  const edit = (by: string) => world.query(`update account set balance = balance + ${by} where id = 1`);
  const stop = () =>
    world.query(
      `insert into payout_stop (id, finding_count, workspace_ids, findings) values (7, 2, '{1}', '[]') on conflict do nothing`,
    );
  const resumed = () => world.query('select resumed_by from payout_stop where resumed_at is not null');

  describe('banking payouts resume', () => {
    it('is refused where payouts are not stopped', async () => {
      const { exitCode, stderr } = await world.run(['payouts', 'resume']);

      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^Payouts are not stopped\.$/m);
    });

    it('is refused while the books of a workspace with findings are not in order', async () => {
      await stop();
      await edit('1');

      const { exitCode, stderr } = await world.run(['payouts', 'resume']);

      expect(exitCode).toBe(1);
      expect(stderr).toMatch(
        /^The books are not in order in workspace 1, so payouts stay stopped\. Run banking verify/m,
      );
      expect(await resumed()).toEqual([]);
    });

    it('is shown by work list and verify until payouts are resumed', async () => {
      await stop();
      await edit('1');

      const listed = await world.run(['work', 'list', '--parked']);
      const verified = await world.run(['verify']);

      expect(listed.stdout).toMatch(/1 +payout stop +7 +open .+ a verification of the books had 2 findings$/m);
      expect(verified.stdout).toMatch(/1 +payouts are stopped since 2\S+Z: a verification of the books had findings$/m);
      expect(verified.exitCode).toBe(1);
    });

    it('resumes payouts once the books are in order, and records the operator', async () => {
      await stop();
      await world.query(
        `update account a set balance = (select balance_after from transfer t where t.account_id = a.id order by account_version desc limit 1)
       where id = 1`,
      );

      const { exitCode, stdout } = await world.run(['payouts', 'resume']);

      expect({ exitCode, stdout }).toEqual({
        exitCode: 0,
        stdout: 'Payouts are resumed. Those that waited are submitted within five minutes.\n',
      });
      expect(await resumed()).toEqual([{ resumed_by: OPERATOR }]);
      expect((await world.run(['work', 'list', '--parked'])).stdout).toBe('No work is parked.\n');
      expect((await world.run(['verify'])).exitCode).toBe(0);
    });
  });
});

describe('banking payout return', () => {
  const LIVE = { SANDBOX: 'off' };
  let payoutId: number;
  /** The environments of two operators, each with a login of their own. */
  let lena: Readonly<Record<string, string>>;
  let omar: Readonly<Record<string, string>>;

  beforeAll(async () => {
    lena = await operator('lena');
    omar = await operator('omar');
    // A payout of a live database that has no network. What the demo has posted counts as approved.
    await world.query('update deployment_mode set is_sandbox = false');
    await world.query(
      `insert into operator_posting (workspace_id, transaction_id, request_id, action, requested_by, approved_by)
       select workspace_id, id, 1, 'spec', 'a', 'b' from transaction`,
    );
    const [row] = await world.query(
      `with last as (
       select x.workspace_id, x.id from transaction x join payout p on p.transaction_id = x.id
       where x.status = 'completed' and x.workspace_id = 1 order by x.id desc limit 1
     ), pending as (
       update transaction x set status = 'pending' from last where x.id = last.id
     ), due as (
       update payout p set status = 'due' from last where p.transaction_id = last.id
     ), uncredited as (
       delete from remittance_event e using last
       where e.transaction_id = last.id and e.status = 'ACCC'
     ), run as (
       update execution e set status = 'pending' from last where e.transaction_id = last.id returning e.id
     ), unended as (
       delete from event e using last, run
       where e.workspace_id = last.workspace_id and (e.type, e.resource_id) in (('transaction.completed', last.id), ('execution.completed', run.id))
     )
     insert into work (workspace_id, kind, subject_id, rail) select workspace_id, 'payout', id, 'sandbox' from last returning subject_id::int as id`,
    );
    payoutId = row?.['id'] as number;
  });

  async function operator(name: string): Promise<Readonly<Record<string, string>>> {
    const { url } = await world.json<{ url: string }>('operator', 'add', name);
    return { ...LIVE, DATABASE_URL: url };
  }

  const command = (id: number) => [
    'payout',
    'return',
    String(id),
    '--workspace',
    '1',
    '--note',
    'no network serves India',
  ];

  /** Lena requests it, and Omar approves it. */
  async function give(id: number) {
    const { stdout } = await world.run([...command(id), '--json'], lena);
    const [{ request }] = JSON.parse(stdout) as [{ request: { id: number } }];
    return world.run([...command(id), '--approve', String(request.id)], omar);
  }

  it('acts on a payout that verify and work list show to wait for a network', async () => {
    const { exitCode, stdout } = await world.run(['verify'], LIVE);
    const listed = await world.run(['work', 'list'], LIVE);

    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(
        new RegExp(
          `^ +1 +payout ${payoutId} waits for the payment network sandbox, which is not configured, since 2\\S+Z$`,
          'm',
        ),
      ),
    ]);
    expect(listed.stdout).toMatch(
      new RegExp(
        `payout +${payoutId} +waiting .+ the rail sandbox is not configured: add it to RAILS_FILE, or see banking payout return$`,
        'm',
      ),
    );
  });

  it.each([
    ['without a note', ['--workspace', '1'], 2, "required option '--note <text>' not specified"],
    ['without a workspace', ['--note', 'x'], 2, "required option '--workspace <id>' not specified"],
    ['with a long note', ['--workspace', '1', '--note', 'x'.repeat(501)], 1, 'The note has 501 characters.'],
  ])('is refused %s', async (_case, more, exitCode, words) => {
    expect(await world.run(['payout', 'return', String(payoutId), ...more], LIVE)).toMatchObject({
      exitCode,
      stderr: expect.stringContaining(words) as string,
    });
  });

  it('is refused for a payout that may have been sent, and for an unknown one', async () => {
    await world.query('update payout set tries = 1 where transaction_id = $1', payoutId);

    expect(await give(payoutId)).toMatchObject({
      exitCode: 1,
      stderr:
        `The payout ${payoutId} of workspace 1 may have been sent, so its money is not returned: its network has it or was not asked, ` +
        'or a worker sends it. See banking work list.\n',
    });
    expect(await give(999_999)).toMatchObject({
      exitCode: 1,
      stderr: 'There is no payout 999999 of workspace 1. See banking work list.\n',
    });
    await world.query('update payout set tries = 0 where transaction_id = $1', payoutId);
  });

  it('is a request of one operator, which the same one cannot approve, and another can withdraw', async () => {
    const { exitCode, stdout } = await world.run(command(payoutId), lena);

    const [, id = ''] = /Stored request (\d+): returnPayout/.exec(stdout) ?? [];
    expect({ exitCode, stdout }).toEqual({
      exitCode: 3,
      stdout: expect.stringContaining(
        `\n  banking payout return ${payoutId} --workspace 1 --note 'no network serves India' --approve ${id}\n`,
      ) as string,
    });
    expect(await world.run([...command(payoutId), '--approve', id], lena)).toMatchObject({
      exitCode: 1,
      stderr: `The login lena made request ${id}. Another operator approves it, with a login of their own.\n`,
    });
    expect((await world.run(['request', 'list'], omar)).stdout).toMatch(
      new RegExp(`^ *${id} +lena .+ open .+returnPayout`, 'm'),
    );
    expect((await world.run(['request', 'show', id], omar)).stdout).toMatch(/^requestedBy +lena$/m);
    expect(await world.run(['request', 'withdraw', id], omar)).toMatchObject({ exitCode: 0 });
    expect(await world.run([...command(payoutId), '--approve', id], omar)).toMatchObject({
      exitCode: 1,
      stderr: `The request ${id} is withdrawn. See banking request show ${id}.\n`,
    });
    expect((await world.run(['request', 'list'], omar)).stdout).not.toMatch(new RegExp(`^ *${id} `, 'm'));
  });

  it('returns the money once, and leaves the books in order', async () => {
    const { exitCode, stdout } = await give(payoutId);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(
        new RegExp(
          `^Request \\d+ of lena, .+: returnPayout, note "no network serves India", transactionId ${payoutId}, workspaceId 1\\.\n` +
            `Returned the payout ${payoutId} of workspace 1 without its fee, by transaction \\d+\\.\n$`,
        ),
      ) as string,
    });
    expect(await world.query('select status, reason from payout where transaction_id = $1', payoutId)).toEqual([
      { status: 'failed', reason: 'no network serves India' },
    ]);
    expect(await world.query('select status, failure_code from execution where transaction_id = $1', payoutId)).toEqual(
      [{ status: 'failed', failure_code: 'payout_rejected' }],
    );
    expect(
      await world.query(
        `select e -> 'actor' as actor, (e ->> 'resourceId')::int as id
         from audit_outbox cross join jsonb_array_elements(entries) e where e ->> 'operation' = 'returnPayout'`,
      ),
    ).toEqual([
      { actor: { type: 'operator', name: 'omar', operatingSystemUser: OPERATOR, requestedBy: 'lena' }, id: payoutId },
    ]);
    expect(await give(payoutId)).toMatchObject({
      exitCode: 1,
      stderr: `The payout ${payoutId} of workspace 1 is completed or failed already. There is nothing to return.\n`,
    });
    const verified = await world.run(['verify'], LIVE);
    expect(verified).toMatchObject({
      exitCode: 0,
      stdout: expect.not.stringContaining('waits for a payment') as string,
    });
  });
});
