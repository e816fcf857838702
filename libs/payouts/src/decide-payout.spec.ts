import fc from 'fast-check';
import type { Timestamp } from '@banking/domain';
import { API_ROLE, PROVISIONING_ROLE, RULE_VIOLATION, SQLSTATE, WORKER_ROLE } from '@banking/postgres';
import { listWork, type Worker } from '@banking/work-queue';
import { sql, testOrProve, until } from '@banking/postgres/testing';
import type { DecisionHook, DecisionQuestion, HookAnswer, NoAnswer, PayoutDecisions } from './decide-payout.js';
import { demandDecisions, endDecisionDemand, readDecisionDemand } from './decision-demand.js';
import { COUNT_HELD_PAYOUTS, decideHeldPayout, listHeldPayouts } from './held-payouts.js';
import { SANDBOX_RAIL, SandboxRail } from './sandbox-rail.js';
import {
  AMOUNT,
  countedDatabase,
  faults,
  Halt,
  NORTH,
  openWorld,
  passTimeHere,
  payOut,
  payoutWorker,
  SOUTH,
  work,
  type World,
} from './testing/world.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
  await demandDecisions(world.database);
});

afterAll(async () => {
  const found = await faults(world);
  await world.close();
  expect(found).toEqual([]);
});

const APPROVE: HookAnswer = { decision: 'approve' };
const HOLD: HookAnswer = { decision: 'hold', reason: 'a new payee' };
const REJECT: HookAnswer = { decision: 'reject', reason: 'on a list' };
const NONE: NoAnswer = { failure: 'it answered 500' };

/** A hook that answers by transaction, and notes the questions. */
class Hook implements DecisionHook {
  readonly questions: DecisionQuestion[] = [];

  constructor(private readonly answerOf: (transactionId: number) => HookAnswer | NoAnswer) {}

  async ask(question: DecisionQuestion): Promise<HookAnswer | NoAnswer> {
    this.questions.push(question);
    return this.answerOf(question.data.transactionID);
  }
}

const decisionsOf = (hook: DecisionHook): PayoutDecisions => ({
  hook,
  readPayer: async () => ({ accountId: 1001, orderId: 7, createdAt: '2026-11-28T08:00:00Z' as Timestamp }),
});

/** A worker with a hook, which runs when the spec calls `step`. */
function workerWith(answer: HookAnswer | NoAnswer | (() => HookAnswer | NoAnswer)) {
  const hook = new Hook(typeof answer === 'function' ? answer : () => answer);
  return { hook, worker: payoutWorker(world, { decisions: decisionsOf(hook) }) };
}

const stateOf = async (id: number) =>
  (
    await world.owner.query<{
      status: string;
      payout: string;
      returns: number;
      submissions: number | null;
      events: string[];
      decisions: string[];
    }>(
      `select x.status, p.status as payout,
              (select count(*)::int from transaction r where r.return_of = x.id) as returns,
              (select submissions from sandbox_rail_payment where key = format('payout-%s-%s-%s', x.workspace_id, x.id, p.key_nonce)) as submissions,
              array(select concat_ws(' ', e.status, e.reason_code) from remittance_event e where e.transaction_id = x.id order by e.id) as events,
              array(select concat_ws(' ', d.decided_by, d.decision) from payout_decision d where d.transaction_id = x.id order by 1) as decisions
       from transaction x join payout p on p.transaction_id = x.id where x.id = $1`,
      [id],
    )
  ).rows[0];

const operate = (transactionId: number, decision: 'approve' | 'reject', workspaceId = NORTH) =>
  decideHeldPayout(world.database, {
    ...{ workspaceId, transactionId, decision, note: 'ticket 4711' },
    noteChanges: () => sql('select 1'),
  });

const PAID = { status: 'completed', payout: 'settled', returns: 0, submissions: 1 };
const RETURNED = { status: 'failed', payout: 'failed', returns: 1, submissions: null, events: ['RJCT MS03'] };
const WAITING = { status: 'pending', payout: 'due', returns: 0, submissions: null, events: [] };

/** The only payout of a batch of one. */
const one = async (options: Parameters<typeof payOut>[1] = {}) => (await payOut(world, options))[0]!;

describe('a payout that needs a decision', () => {
  it('is not handed over as begun, and is submitted once after an approval', async () => {
    const id = await one({ leasedMax: 1 });
    expect(await stateOf(id)).toMatchObject(WAITING);
    const { hook, worker } = workerWith(APPROVE);

    await work(world, worker, 10);

    expect(await stateOf(id)).toMatchObject({ ...PAID, decisions: ['hook approve'] });
    expect(hook.questions).toMatchObject([
      {
        id: expect.stringMatching(/^decision-[0-9a-f-]{36}$/),
        data: {
          ...{ workspaceID: NORTH, accountID: 1001, orderID: 7, transactionID: id },
          ...{ amount: `${AMOUNT}`, currency: 'USD', payee: { name: 'Ravi Menon' } },
        },
      },
    ]);
  });

  it('waits after a hold, is not asked about again, and does not spin', async () => {
    const id = await one();
    const { hook, worker } = workerWith(HOLD);
    await worker.step();

    for (let round = 0; round < 3; round++) {
      expect(await worker.step()).toBe(0);
      await passTimeHere(world, 15 * 60_000);
    }
    // After the longest wait it is claimed again, and still held.
    await passTimeHere(world, 24 * 60 * 60_000);
    await worker.step();

    expect(hook.questions).toHaveLength(1);
    expect(await stateOf(id)).toMatchObject({ ...WAITING, decisions: ['hook hold'] });
    expect((await listHeldPayouts(world.database, [NORTH, SOUTH])).payouts).toMatchObject([
      { workspaceId: NORTH, transactionId: id, amount: `${AMOUNT}`, currencyCode: 'USD', reason: 'a new payee' },
    ]);
    expect((await listWork(world.database)).filter(({ state }) => state === 'parked')).toEqual([]);
    await operate(id, 'reject');
    await work(world, worker, 1);
    expect(await stateOf(id)).toMatchObject({ ...RETURNED, decisions: ['hook hold', 'operator reject'] });
  });

  it('gives its money back once after a rejection', async () => {
    const id = await one();
    const { worker } = workerWith(REJECT);

    await work(world, worker, 2);

    expect(await stateOf(id)).toMatchObject({ ...RETURNED, decisions: ['hook reject'] });
    expect((await world.owner.query('select from work where subject_id = $1', [id])).rows).toEqual([]);
  });

  it('waits without an answer, and is asked about again with the same question', async () => {
    const id = await one();
    const answers: HookAnswer[] = [];
    const { hook, worker } = workerWith(() => answers[0] ?? NONE);
    await worker.step();
    expect(await stateOf(id)).toMatchObject({ ...WAITING, decisions: [] });
    const reason = 'the decision hook gave no decision: it answered 500';
    expect((await listHeldPayouts(world.database, [NORTH])).payouts).toMatchObject([{ transactionId: id, reason }]);
    expect((await listWork(world.database)).filter(({ subjectId }) => subjectId === id)).toMatchObject([{ reason }]);

    answers.push(APPROVE);
    await work(world, worker, 20);

    expect(new Set(hook.questions.map((question) => JSON.stringify(question))).size).toBe(1);
    expect(hook.questions.length).toBeGreaterThan(1);
    expect(await stateOf(id)).toMatchObject({ ...PAID, decisions: ['hook approve'] });
  });

  it('is never parked, however long the hook does not answer', async () => {
    const id = await one();
    const { worker } = workerWith(NONE);
    for (let round = 0; round < 15; round++) {
      await worker.step();
      await passTimeHere(world, 20 * 60_000);
    }

    expect((await listWork(world.database)).filter(({ state }) => state === 'parked')).toEqual([]);
    await operate(id, 'approve');
    await work(world, worker, 10);
    expect(await stateOf(id)).toMatchObject({ ...PAID, decisions: ['operator approve'] });
  });

  it('waits for a worker with a hook, or for an operator', async () => {
    const id = await one();
    const worker = payoutWorker(world);
    await work(world, worker, 2);
    expect(await stateOf(id)).toMatchObject({ ...WAITING, decisions: [] });

    await operate(id, 'approve');
    await work(world, worker, 10);

    expect(await stateOf(id)).toMatchObject({ ...PAID, decisions: ['operator approve'] });
  });

  it('is counted while it waits', async () => {
    const id = await one();

    const rows = await world.database.read({}, { statement: COUNT_HELD_PAYOUTS, values: [] });
    expect(rows).toMatchObject({ rail: SANDBOX_RAIL, payouts: 1 });
    await operate(id, 'reject');
    await work(world, payoutWorker(world), 1);
    expect(await stateOf(id)).toMatchObject(RETURNED);
  });

  it('stays with the network after a rejection, if books that were restored had lost its submission', async () => {
    const id = await one();
    const rail = new SandboxRail(world.database);
    const { rows } = await world.owner.query<{ key: string }>(
      `select format('payout-%s-%s-%s', workspace_id, transaction_id, key_nonce) as key from payout where transaction_id = $1`,
      [id],
    );
    const creditor = { name: 'Ravi Menon', account: '50100123456789' };
    await rail.submit({ key: rows[0]!.key, amount: AMOUNT, currency: 'USD', creditor }, new AbortController().signal);
    await world.owner.query(`set session_replication_role = replica;
      update payout set created_at = created_at - interval '2 minutes' where transaction_id = ${id};
      reset session_replication_role`);

    await work(world, workerWith(REJECT).worker, 20);

    expect(await stateOf(id)).toMatchObject({ status: 'completed', payout: 'settled', returns: 0, submissions: 1 });
  });
});

describe('an operator', () => {
  it('decides a held payout once, and no other', async () => {
    const held = await one();
    const { worker } = workerWith(HOLD);
    await worker.step();

    expect(await operate(held, 'approve')).toBe('decided');
    expect(await operate(held, 'reject')).toBe('not_held');
    await work(world, worker, 10);
    expect(await stateOf(held)).toMatchObject({ ...PAID, decisions: ['hook hold', 'operator approve'] });
    expect(await operate(held, 'reject')).toBe('final');
    expect(await operate(9_999_999, 'approve')).toBe('not_found');
    expect(await operate(held, 'approve', SOUTH)).toBe('not_found');
  });

  it('decides while a worker waits for the hook, and the later answer changes nothing', async () => {
    const id = await one();
    let answer: (value: HookAnswer) => void = () => undefined;
    const asked: Promise<void> = new Promise((resolveAsked) => {
      const hook: DecisionHook = {
        ask: () => new Promise((resolve) => ((answer = resolve), resolveAsked())),
      };
      void payoutWorker(world, { decisions: decisionsOf(hook) }).step();
    });
    await asked;

    expect(await operate(id, 'reject')).toBe('decided');
    answer(APPROVE);
    await work(world, payoutWorker(world), 2);

    expect(await stateOf(id)).toMatchObject({ ...RETURNED, decisions: ['operator reject'] });
  });
});

describe('a payout that needs no decision', () => {
  const end = async () => {
    const provisioning = world.database.as(PROVISIONING_ROLE);
    const demand = await readDecisionDemand(provisioning);
    expect(await endDecisionDemand(provisioning, demand!.id, 'the hook is gone')).toBeDefined();
  };

  afterEach(() => demandDecisions(world.database));

  it('is made after the demand ended, is not asked about, and costs no statement more', async () => {
    const before = await one();
    await end();
    const id = await one();
    const { hook } = workerWith(HOLD);
    const counted = countedDatabase(world.database);
    const books = { ...world.books, database: counted.database };
    await work(world, payoutWorker(world, { decisions: decisionsOf(hook), books }), 10);

    expect(await stateOf(id)).toMatchObject({ ...PAID, decisions: [] });
    expect(hook.questions.map(({ data }) => data.transactionID)).toEqual([before]);
    expect(counted.names.filter((name) => name === 'store_payout_decision')).toHaveLength(1);
    expect(await operate(id, 'approve')).toBe('final');
    await operate(before, 'reject');
    await work(world, payoutWorker(world), 1);
  });

  it('is delayed by no hook that hangs, on its network or on another', async () => {
    const held = await payOut(world, { count: 3 });
    await end();
    const other = 'other';
    const ids = [await one(), await one({ rail: other })];
    const hook: DecisionHook = {
      ask: (_question, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(NONE))),
    };
    const rail = new SandboxRail(world.database);
    const worker: Worker = payoutWorker(world, {
      ...{ decisions: decisionsOf(hook), others: new Map([[other, rail]]) },
    }).start();
    try {
      await until(async () => {
        const { rows } = await world.owner.query<{ isDone: boolean }>(
          `select bool_and(status = 'submitted') as "isDone" from payout where transaction_id = any($1)`,
          [ids],
        );
        return rows[0]!.isDone;
      });
    } finally {
      await worker.stop();
    }
    for (const id of held) {
      expect(await stateOf(id)).toMatchObject({ ...WAITING, decisions: [] });
      await operate(id, 'reject');
    }
    await work(world, payoutWorker(world, { others: new Map([[other, rail]]) }), 10);
    for (const id of held) expect(await stateOf(id)).toMatchObject(RETURNED);
  });
});

describe('a worker that is killed', () => {
  const outcomes = { approve: PAID, reject: RETURNED, hold: WAITING };

  describe.each(['before', 'after'] as const)('%s a call of the database or of the hook', (where) => {
    it.each(Object.keys(outcomes) as (keyof typeof outcomes)[])(
      'submits no payout without an approval, and none twice: %s',
      async (decision) => {
        for (let nth = 1; ; nth++) {
          const id = await one();
          const halt = new Halt(nth, where);
          const hook = new Hook(() => ({ decision }));
          const books = { ...world.books, database: halt.database(world.database) };
          const rail = halt.rail(new SandboxRail(world.database));
          const asks: DecisionHook = {
            ask: (question) =>
              halt.rail({ submit: () => hook.ask(question) } as never).submit(null as never, null as never) as never,
          };
          const killed = payoutWorker(world, { books, rail, decisions: decisionsOf(asks) });
          const run = killed.step();
          const isKilled = await Promise.race([halt.reached.then(() => true), run.then(() => false)]);
          await passTimeHere(world, 31_000);
          await work(world, payoutWorker(world, { decisions: decisionsOf(hook) }), 10);

          const state = await stateOf(id);
          expect({ nth, ...state }).toMatchObject({ nth, ...outcomes[decision], decisions: [`hook ${decision}`] });
          expect(new Set(hook.questions.map(({ id: question }) => question)).size).toBe(1);
          halt.resume();
          await run;
          if (decision === 'hold') {
            await operate(id, 'reject');
            await work(world, payoutWorker(world), 1);
          }
          if (!isKilled) break;
        }
      },
      120_000,
    );
  });
});

describe('the database', () => {
  const asRole = async (role: string, text: string) => {
    await world.owner.query('begin');
    try {
      await world.owner.query(`set local role ${role}; set local app.workspaces = '{${NORTH},${SOUTH}}'`);
      await world.owner.query(text);
    } finally {
      await world.owner.query('rollback');
    }
  };
  const begin = (id: number) =>
    `update payout set status = 'submitting', tries = tries + 1 where transaction_id = ${id}`;
  const decide = (id: number, decision: string) =>
    `insert into payout_decision (workspace_id, transaction_id, decision) values (${NORTH}, ${id}, '${decision}')`;
  const undecided = { code: RULE_VIOLATION.undecidedPayout };
  const forbidden = { code: SQLSTATE.insufficientPrivilege };
  let id: number;

  beforeAll(async () => {
    id = await one();
  });
  afterAll(async () => {
    await operate(id, 'reject');
    await work(world, payoutWorker(world), 1);
  });

  it('refuses to begin a payout without an approval, where the code leaves out the check', async () => {
    await expect(asRole(WORKER_ROLE, begin(id))).rejects.toMatchObject(undecided);
    await expect(asRole(WORKER_ROLE, `${decide(id, 'hold')}; ${begin(id)}`)).rejects.toMatchObject(undecided);
    await expect(asRole(WORKER_ROLE, `${decide(id, 'reject')}; ${begin(id)}`)).rejects.toMatchObject(undecided);
    await asRole(WORKER_ROLE, `${decide(id, 'approve')}; ${begin(id)}`);
  });

  it('refuses a second decision, and one of a payout that needs none or is begun', async () => {
    for (const [first, second] of [
      ['approve', 'reject'],
      ['reject', 'approve'],
      ['hold', 'approve'],
    ] as const) {
      await expect(asRole(WORKER_ROLE, `${decide(id, first)}; ${decide(id, second)}`)).rejects.toMatchObject(undecided);
    }
    await expect(asRole(WORKER_ROLE, decide(9_999_999, 'approve'))).rejects.toMatchObject(undecided);
    await expect(
      asRole(WORKER_ROLE, `${decide(id, 'approve')}; ${begin(id)}; ${decide(id, 'reject')}`),
    ).rejects.toMatchObject(undecided);
  });

  it('lets the service neither decide as an operator, nor take the demand away, nor change a decision', async () => {
    const release = `insert into payout_decision (workspace_id, transaction_id, decided_by, decision, reason, operator)
      values (${NORTH}, ${id}, 'operator', 'approve', 'x', 'x')`;
    await expect(asRole(WORKER_ROLE, release)).rejects.toMatchObject(forbidden);
    await expect(asRole(API_ROLE, decide(id, 'approve'))).rejects.toMatchObject(forbidden);
    for (const role of [API_ROLE, WORKER_ROLE]) {
      await expect(asRole(role, `update payout set needs_decision = false`)).rejects.toMatchObject(forbidden);
      await expect(asRole(role, `update decision_demand set ended_at = now()`)).rejects.toMatchObject(forbidden);
      await expect(asRole(role, `update payout_decision set decision = 'approve'`)).rejects.toMatchObject(forbidden);
    }
    await expect(
      world.owner.query(`update payout set needs_decision = false where transaction_id = ${id}`),
    ).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
  });
});

describe('the laws of decisions', () => {
  const answers = { approve: APPROVE, hold: HOLD, reject: REJECT, none: NONE } as const;

  it('hold for random answers, decisions of operators, crashes and workers', async () => {
    const answer = fc.constantFrom(...(Object.keys(answers) as (keyof typeof answers)[]));
    const step = fc.record({
      answers: fc.array(answer, { minLength: 1, maxLength: 3 }),
      operator: fc.constantFrom('approve', 'reject', undefined),
      // The call before which the worker is killed; 0 for none.
      killedAt: fc.integer({ min: 0, max: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (plans) => {
        const ids = await payOut(world, { count: plans.length });
        const planOf = new Map(ids.map((id, index) => [id, plans[index]!]));
        const asked = new Map<number, number>();
        const hook = new Hook((id) => {
          const count = asked.get(id) ?? 0;
          asked.set(id, count + 1);
          const list = planOf.get(id)!.answers;
          return answers[list[Math.min(count, list.length - 1)]!];
        });
        const halt = new Halt(plans[0]!.killedAt, 'before');
        const books = { ...world.books, database: halt.database(world.database) };
        const killed = payoutWorker(world, { books, decisions: decisionsOf(hook) }).step();
        await Promise.race([halt.reached, killed]);
        await passTimeHere(world, 31_000);
        await Promise.all([
          work(world, payoutWorker(world, { decisions: decisionsOf(hook) }), 10),
          ...ids.map(async (id) => planOf.get(id)!.operator && operate(id, planOf.get(id)!.operator!)),
        ]);
        await work(world, payoutWorker(world, { decisions: decisionsOf(hook) }), 30);
        halt.resume();
        await killed;

        for (const id of ids) {
          const state = (await stateOf(id))!;
          const final = state.decisions.filter((decision) => !decision.endsWith('hold'));
          expect(final.length).toBeLessThanOrEqual(1);
          const expected = final[0]?.endsWith('approve') ? PAID : final[0]?.endsWith('reject') ? RETURNED : WAITING;
          // A worker that was killed behind a submission does not know of it: the network gets the payment again, with its key.
          const mayRepeat = plans[0]!.killedAt > 0 && state.submissions === 2;
          expect({ plan: planOf.get(id), ...state, ...(mayRepeat && { submissions: 1 }) }).toMatchObject(expected);
          if (final.length === 0) await operate(id, 'reject');
        }
        await work(world, payoutWorker(world), 1);
      }),
      { numRuns: testOrProve(4, 12) },
    );
  }, 120_000);
});
