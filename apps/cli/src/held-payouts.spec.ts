import { OPERATOR, World } from './testing/world.js';

describe('payouts that wait for a decision', () => {
  const world = new World();
  let ids: number[];

  beforeAll(async () => {
    await world.openDemo();
    // The last payouts of the demo data again, as if the hook held the first of them and had not decided the others.
    await world.query('insert into decision_demand (demanded_at) values (now())');
    const rows = await world.query(
      `with last as (
         select p.workspace_id, p.transaction_id from payout p join transaction x on x.workspace_id = p.workspace_id and x.id = p.transaction_id
         where p.workspace_id = 1 and x.status = 'completed' order by 2 limit 2),
       pending as (
         update transaction x set status = 'pending' from last where x.id = last.transaction_id),
       due as (
         update payout p set status = 'due', tries = 0, needs_decision = true from last where p.transaction_id = last.transaction_id)
       insert into work (workspace_id, kind, subject_id, rail, due_at)
       select workspace_id, 'payout', transaction_id, 'sandbox', now() + interval '1 day' from last returning subject_id::int as id`,
    );
    ids = rows.map(({ id }) => id as number).sort((a, b) => a - b);
    await world.query(
      `insert into payout_decision (workspace_id, transaction_id, decision, reason) values (1, $1, 'hold', 'a new payee')`,
      ids[0],
    );
    const reason = 'the decision hook gave no decision: it answered 500';
    await world.query(`update work set reason = $1 where kind = 'payout' and subject_id = $2`, reason, ids[1]);
  });
  afterAll(() => world.close());

  const decide = (name: string, id: number, ...more: readonly string[]) =>
    world.run(['payout', name, String(id), '--workspace', '1', '--note', 'ticket 4711', ...more]);
  const due = (id: number) =>
    world.query(
      'select due_at <= clock_timestamp() as due from work where subject_id = $1 and kind = $2',
      id,
      'payout',
    );

  it('are listed with the reason of the hook', async () => {
    const { exitCode, stdout } = await world.run(['payout', 'list']);
    const json = await world.run(['payout', 'list', '--held', '--workspace', '1', '--json']);

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`^ *${ids[0]} +1 .+ sandbox .+ the hook +a new payee$`, 'm'));
    expect(stdout).toMatch(
      new RegExp(
        `^ *${ids[1]} +1 .+ sandbox .+ no decision +the decision hook gave no decision: it answered 500$`,
        'm',
      ),
    );
    expect((JSON.parse(json.stdout) as { transactionId: number }[]).map(({ transactionId }) => transactionId)).toEqual(
      ids,
    );
  });

  it('are listed up to 100, with a line if there are more', async () => {
    const list = async () => (await world.run(['payout', 'list'])).stdout;
    const ended = (condition: string) => `delete from payout where transaction_id ${condition}`;
    const copy = (table: string, id: string) =>
      world.query(
        `insert into ${table}
         select (jsonb_populate_record(t, jsonb_build_object('transaction_id', 900000 + n) || ${id})).*
         from ${table} t cross join generate_series(1, 99) n where t.transaction_id = $1`,
        ids[1],
      );
    await copy(
      'transfer',
      `jsonb_build_object('id', 900000 + 10 * n + t.id % 10, 'account_version', 900000 + 10 * n + t.id % 10)`,
    );
    await copy('payout', `'{}'`);
    expect(await list()).toMatch(/\nThere are more: a database lists its 100 oldest\. .+\n$/);

    await world.query(ended('= 900001'));
    expect(await list()).not.toContain('There are more');
    await world.query(ended('> 900000'));
  });

  it('are counted for their network, for an operator who removes it', async () => {
    const { stdout } = await world.run(['rail', 'status']);
    const json = await world.run(['rail', 'status', '--json']);

    expect(stdout).toMatch(/^Rail +Held +Due +Submitting /m);
    expect(stdout).toMatch(/^sandbox +2 +0 +/m);
    expect(JSON.parse(json.stdout)).toContainEqual(expect.objectContaining({ rail: 'sandbox', held: 2, due: 0 }));
  });

  it.each(['release', 'reject'])('are not decided without a note: %s', async (name) => {
    expect(await world.run(['payout', name, String(ids[0]), '--workspace', '1'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("required option '--note <text>' not specified") as string,
    });
  });

  it('stay when the demand ends, which an operator does once with a note', async () => {
    const end = () => world.run(['payout', 'end-decisions', '--note', 'the hook is retired']);

    expect(await end()).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('New payouts need no decision.') as string,
    });
    expect(await world.query('select ended_by, note from decision_demand')).toEqual([
      { ended_by: OPERATOR, note: 'the hook is retired' },
    ]);
    expect(await end()).toMatchObject({ exitCode: 1, stderr: 'Decisions are not demanded.\n' });
    const { stdout } = await world.run(['payout', 'list', '--json']);
    expect(JSON.parse(stdout)).toMatchObject(ids.map((transactionId) => ({ transactionId })));
  });

  it('are released and rejected once, by an operator with a note', async () => {
    expect(await due(ids[0]!)).toEqual([{ due: false }]);
    expect(await decide('release', ids[0]!)).toMatchObject({
      exitCode: 0,
      stdout: `Released the payout ${ids[0]} of workspace 1. A worker submits it now.\n`,
    });
    expect(await decide('reject', ids[1]!, '--json')).toMatchObject({ exitCode: 0 });

    expect(
      await world.query(
        `select transaction_id::int as id, decision, reason, operator from payout_decision where decided_by = 'operator' order by 1`,
      ),
    ).toEqual([
      { id: ids[0], decision: 'approve', reason: 'ticket 4711', operator: OPERATOR },
      { id: ids[1], decision: 'reject', reason: 'ticket 4711', operator: OPERATOR },
    ]);
    expect([await due(ids[0]!), await due(ids[1]!)]).toEqual([[{ due: true }], [{ due: true }]]);
    expect(
      await world.query(
        `select e ->> 'operation' as operation, e -> 'actor' ->> 'name' as name, (e ->> 'resourceId')::int as id
         from audit_outbox cross join jsonb_array_elements(entries) e where e ->> 'operation' ~ 'Payout$' order by 3`,
      ),
    ).toEqual([
      { operation: 'releasePayout', name: OPERATOR, id: ids[0] },
      { operation: 'rejectPayout', name: OPERATOR, id: ids[1] },
    ]);
    expect(await decide('reject', ids[0]!)).toMatchObject({
      exitCode: 1,
      stderr: `The payout ${ids[0]} of workspace 1 does not wait for a decision. See banking payout list.\n`,
    });
    expect(await decide('release', 999_999)).toMatchObject({
      exitCode: 1,
      stderr: 'There is no payout 999999 of workspace 1. See banking payout list.\n',
    });
  });
});
