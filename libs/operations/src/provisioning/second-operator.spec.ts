import type { AccountId, TransactionId, TransferAmount } from '@banking/domain';
import { openBooks } from '@banking/ledger';
import {
  decideHeldPayout,
  demandDecisions,
  endDecisionDemand,
  listDiscrepancies,
  PAYOUT,
  readDecisionDemand,
  readPayoutStop,
  releaseParkedWork,
  resolveDiscrepancy,
  resumePayouts,
  returnPayout,
  SANDBOX_ROUTING,
  stopPayouts,
} from '@banking/payouts';
import {
  API_ROLE,
  type Database,
  OPERATOR_ROLE,
  PROVISIONING_ROLE,
  RULE_VIOLATION,
  SCHEMA,
  type ScopeSettings,
  SQLSTATE,
  VERIFIER_ROLE,
  WORKER_ROLE,
} from '@banking/postgres';
import { asLogin, openDatabase, plant, reasonOf, sql } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { type AssignedDeposit, assignDeposit, returnDeposit } from '../deposits/end-deposits.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { type DepositWorld, depositWorld, type OpenedAccount } from '../testing/deposit-world.js';
import { OPERATOR_CHECK } from '../verification/verify-controls.js';
import { verifyPayments } from '../verification/verify-payments.js';
import { noteOperatorChanges } from './audit.js';
import { addFunding, resumePausedOrder } from './operator-actions.js';
import {
  approveRequest,
  listRequests,
  type OperatorAction,
  type OperatorActions,
  readRequest,
  storeRequest,
  withdrawRequest,
} from './operator-requests.js';

const PASSWORD = 'only-in-this-spec';
const REFUSED = { code: RULE_VIOLATION.notApprovedByOperator };

/** An operator with a login of their own. */
interface Operator {
  readonly login: string;
  readonly database: Database;
  readonly provisioning: Database;
}

/** An action that was prepared in the sandbox. */
interface Prepared {
  readonly action: OperatorAction;
  /** Carries it out, with the settings of an approval or without. */
  readonly run: (by: Operator, settings?: ScopeSettings) => Promise<unknown>;
  /** What it changes. */
  readonly state: () => Promise<unknown>;
}

let at: DepositWorld;
let service: LedgerBankingService;
let lena: Operator;
let omar: Operator;
let account: AccountId;

beforeAll(async () => {
  at = await depositWorld();
  service = new LedgerBankingService(at.database, at.books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING }, true);
  account = (await service.openAccount({ workspaceId: at.north }, { productID: 1 as never })).resource.id;
  await service.fundAccount({ workspaceId: at.north }, { accountId: account, amount: '100000000' as TransferAmount });
  [lena, omar] = await Promise.all([operator('lena'), operator('omar')]);
});
afterAll(async () => {
  for (const { login, database, provisioning } of [lena, omar]) {
    await Promise.all([database.end(), provisioning.end()]);
    await at.owner.query(`drop role ${login}`);
  }
  await at.close();
});

async function operator(name: string): Promise<Operator> {
  const login = `${(await one<{ name: string }>('select current_database() as name')).name}_${name}`;
  await at.owner.query(`create role ${login} login password '${PASSWORD}'`);
  await at.owner.query(`grant ${OPERATOR_ROLE}, ${PROVISIONING_ROLE} to ${login}`);
  const settings = { 'app.operating_system_user': name };
  const connected = { connection: asLogin(at.connection, login, PASSWORD), schema: SCHEMA, settings };
  const [database, provisioning] = await Promise.all([
    openDatabase({ ...connected, role: OPERATOR_ROLE, poolSize: 2 }),
    openDatabase({ ...connected, role: PROVISIONING_ROLE, poolSize: 1 }),
  ]);
  return { login, database, provisioning };
}

async function one<T extends object>(text: string, ...values: readonly unknown[]): Promise<T> {
  const { rows } = await at.owner.query<T>(text, [...values]);
  return rows[0]!;
}

const becomes = (mode: 'live' | 'sandbox') =>
  plant(at.owner, `update deployment_mode set is_sandbox = ${mode === 'sandbox'}`);
afterEach(() => becomes('sandbox'));

const balance = async () =>
  (await one<{ balance: bigint }>('select balance from account where id = $1', account)).balance;

/** A payment to India of 100.00 USD, whose payout is due. */
async function payout(): Promise<TransactionId> {
  const { resource } = await service.placeOrder(
    { workspaceId: at.north },
    {
      ...{ accountId: account, recipientID: at.demo.recipients['international'] as never, type: 'instant' },
      ...{ amount: '10000' as TransferAmount, purposeCode: 'IR002' },
    },
  );
  return resource.edges.executions![0]!.edges.transaction!.id;
}

async function unmatched(): Promise<number> {
  const entryId = await at.entry({ remittance: 'Invoice 4711' });
  await at.work();
  return (await at.depositOf(entryId))!.id;
}

const using = ({ database }: Operator, settings: ScopeSettings = {}) => database.with(settings);
const note = 'ticket 4711';

/** A payout that waits for a decision, which an operator makes. */
async function decided(action: 'releasePayout' | 'rejectPayout'): Promise<Prepared> {
  const given = { workspaceId: at.north, transactionId: await payout(), note };
  await plant(at.owner, `update payout set needs_decision = true where transaction_id = ${given.transactionId}`);
  const decision = action === 'releasePayout' ? 'approve' : 'reject';
  return {
    action: { action, arguments: given },
    run: (by, settings) =>
      decideHeldPayout(using(by, settings), { ...given, decision, noteChanges: noteOperatorChanges }),
    state: () =>
      one(
        `select count(*)::int as decisions, max(d.operator) as by, bool_or(w.due_at <= now()) as is_due
         from work w left join payout_decision d on d.transaction_id = w.subject_id where w.subject_id = $1`,
        given.transactionId,
      ),
  };
}

const ACTIONS: Readonly<Record<keyof OperatorActions, () => Promise<Prepared>>> = {
  async fundAccount() {
    const given = { accountId: account, reference: 'Invoice', key: undefined };
    return {
      action: { action: 'fundAccount', arguments: { ...given, amount: '1250' } },
      run: (by, settings) =>
        addFunding(openBooks(using(by, settings)), { ...given, amount: '12.50', isOfOperator: true }),
      state: balance,
    };
  },
  async assignDeposit() {
    const given = { workspaceId: at.north, depositId: await unmatched(), note };
    const theirs = await at.open(at.south);
    return {
      action: { action: 'assignDeposit', arguments: { ...given, accountId: theirs.id } },
      run: (by, settings) => assignDeposit(openBooks(using(by, settings)), { ...given, account: theirs.code }),
      state: () => at.balanceOf(theirs),
    };
  },
  async returnDeposit() {
    const given = { workspaceId: at.north, depositId: await unmatched(), note };
    return {
      action: { action: 'returnDeposit', arguments: given },
      run: (by, settings) => returnDeposit(openBooks(using(by, settings)), given),
      state: () => at.balanceOf(at.suspense),
    };
  },
  async ignoreEntry() {
    const entryId = await at.entry({ direction: 'debit' });
    const ignore = sql(`update bank_entry set outcome = 'ignored', note = $2 where id = $1`, entryId, note);
    return {
      action: { action: 'ignoreEntry', arguments: { entryId, note } },
      run: (by, settings) => using(by, settings).write({}, [ignore]),
      state: () => one('select outcome, note, ignored_by from bank_entry where id = $1', entryId),
    };
  },
  async returnPayout() {
    const given = { workspaceId: at.north, transactionId: await payout(), note };
    return {
      action: { action: 'returnPayout', arguments: given },
      run: (by, settings) =>
        returnPayout(openBooks(using(by, settings)), {
          ...given,
          rails: new Map(),
          noteChanges: noteOperatorChanges,
        }),
      state: balance,
    };
  },
  releasePayout: () => decided('releasePayout'),
  rejectPayout: () => decided('rejectPayout'),
  async endDecisions() {
    await plant(at.owner, 'delete from decision_demand');
    await demandDecisions(at.database);
    const { id: demandId } = (await readDecisionDemand(at.provisioning))!;
    return {
      action: { action: 'endDecisions', arguments: { demandId, note } },
      run: (by, settings = {}) => endDecisionDemand(by.provisioning.with(settings), demandId, note),
      state: () => one('select ended_by, note from decision_demand'),
    };
  },
  async submitPayoutAgain() {
    const given = { workspaceId: at.north, transactionId: await payout() };
    const parked = `parked_at = now(), tries = 1`;
    await plant(
      at.owner,
      `update work set ${parked} where kind = '${PAYOUT}' and subject_id = ${given.transactionId};
      update payout set ${parked}, status = 'parked', accepted_at = now() where transaction_id = ${given.transactionId}`,
    );
    const work = { workspaceId: at.north, kind: PAYOUT, subjectId: given.transactionId };
    return {
      action: { action: 'submitPayoutAgain', arguments: given },
      run: (by, settings) => releaseParkedWork(using(by, settings), work, noteOperatorChanges, true),
      state: () => one('select status, accepted_at from payout where transaction_id = $1', given.transactionId),
    };
  },
  async resolveDiscrepancy() {
    const transactionId = await payout();
    for (const status of ['ACCC', 'RJCT'] as const) {
      await service.addTransactionEvent({ workspaceId: at.north }, { transactionId, status });
    }
    const open = await listDiscrepancies(at.database, [at.north]);
    const { id: discrepancyId } = open.find((discrepancy) => discrepancy.transactionId === transactionId)!;
    const given = { workspaceId: at.north, discrepancyId, resolution: 'returned', note } as const;
    return {
      action: { action: 'resolveDiscrepancy', arguments: given },
      run: (by, settings) =>
        resolveDiscrepancy(openBooks(using(by, settings)), { ...given, noteChanges: noteOperatorChanges }),
      state: balance,
    };
  },
  async resumePayouts() {
    await stopPayouts(at.database, [{ check: 'a rule', workspaceId: at.north, detail: '' }]);
    const { id: stopId } = (await readPayoutStop(at.database))!;
    return {
      action: { action: 'resumePayouts', arguments: { stopId } },
      run: (by, settings = {}) => resumePayouts(by.provisioning.with(settings), stopId),
      state: () => one('select resumed_by from payout_stop where id = $1', stopId),
    };
  },
  async resumeOrder() {
    const actor = at.demo.users['ada@northwind.example'] as never;
    const { resource } = await service.placeOrder(
      { workspaceId: at.north, actor },
      {
        ...{
          accountId: account,
          recipientID: at.demo.recipients['internal'] as never,
          amount: '100' as TransferAmount,
        },
        ...{ type: 'recurring', repeatUnit: 'daily', repeatValue: 1, startAt: '2099-01-31T09:00:00Z' },
      },
    );
    const given = { workspaceId: at.north, orderId: resource.id, placer: 'ada@northwind.example' };
    await at.database.pipeline({ workspaces: [at.north] }, [
      sql(
        `update customer_order set paused_at = now(), pause_reason = 'placer_without_role' where id = $1`,
        resource.id,
      ),
    ]);
    return {
      action: { action: 'resumeOrder', arguments: given },
      run: (by, settings) => resumePausedOrder(using(by, settings), given),
      state: () => one('select paused_at from customer_order where id = $1', resource.id),
    };
  },
};

/** The actions that post transactions, which the verification finds if no request covers them. */
const POSTING = ['fundAccount', 'assignDeposit', 'returnDeposit', 'returnPayout', 'resolveDiscrepancy'];

const names = Object.keys(ACTIONS) as (keyof OperatorActions)[];

const findings = async () =>
  (await verifyPayments(at.database, [at.north, at.south])).filter(({ check }) => check === OPERATOR_CHECK.check);

/** What exists was posted in the sandbox, where no request covers anything. */
const coverAll = () =>
  plant(
    at.owner,
    `insert into operator_posting (workspace_id, transaction_id, request_id, action, requested_by, approved_by)
    select workspace_id, id, 1, 'spec', 'a', 'b' from transaction on conflict do nothing`,
  );

describe.each(names)('outside a sandbox, %s', (name) => {
  let prepared: Prepared;
  let before: unknown;

  beforeEach(async () => {
    if (name === 'resumePayouts')
      await plant(at.owner, 'update payout_stop set resumed_at = now(), resumed_by = $$spec$$');
    prepared = await ACTIONS[name]();
    await coverAll();
    await becomes('live');
    before = await prepared.state();
  });

  const expectRefused = async (work: Promise<unknown>, message: string) => {
    await expect(work).rejects.toMatchObject({ ...REFUSED, message });
    expect(await prepared.state()).toEqual(before);
  };

  it('is refused without a request', async () => {
    await expectRefused(prepared.run(omar), 'a second operator approves what moves money or stops it');
  });

  it('is refused to the login that requested it', async () => {
    const { id, digest } = await storeRequest(lena.database, prepared.action);

    await expectRefused(
      prepared.run(lena, { 'app.operator_request': `${id}:${digest}` }),
      'another login approves a request than the one that made it',
    );
    expect(await reasonOf(approveRequest(lena.database, id, prepared.action))).toContain(`made request ${id}`);
  });

  it('is refused for a request of other arguments, or of another action', async () => {
    const given = prepared.action.arguments as Readonly<Record<string, unknown>>;
    // The database sees neither the key of a funding nor its reference.
    const seen = Object.keys(given).filter((key) => !['key', 'reference'].includes(key));
    const others = seen.map((key) => {
      const value = given[key];
      const other = typeof value === 'number' ? value + 1 : `${String(value)}1`;
      return { ...prepared.action, arguments: { ...given, [key]: other } };
    });
    const renamed = { ...prepared.action, action: name === 'ignoreEntry' ? 'fundAccount' : 'ignoreEntry' };
    for (const action of [...others, renamed] as OperatorAction[]) {
      const { id } = await storeRequest(lena.database, action);
      const { settings } = await approveRequest(omar.database, id, action);

      await expectRefused(prepared.run(omar, settings), 'the request is for something else');
      expect(await reasonOf(approveRequest(omar.database, id, prepared.action))).toContain('for something else');
    }
  });

  it('is refused with another digest, and for a request that expired or was withdrawn', async () => {
    const { id } = await storeRequest(lena.database, prepared.action);
    const { settings } = await approveRequest(omar.database, id, prepared.action);
    await expectRefused(
      prepared.run(omar, { 'app.operator_request': `${id}:${'0'.repeat(64)}` }),
      'the request is for something else',
    );
    await plant(at.owner, `update operator_request set expires_at = now() where id = ${id}`);
    await expectRefused(prepared.run(omar, settings), 'the request has expired');
    expect(await reasonOf(approveRequest(omar.database, id, prepared.action))).toContain('is expired');

    const second = await storeRequest(lena.database, prepared.action);
    const approval = await approveRequest(omar.database, second.id, prepared.action);
    await withdrawRequest(omar.database, second.id);
    await expectRefused(prepared.run(omar, approval.settings), 'the request is withdrawn');
  });

  it('is carried out once by another login, also by two at once, and both are named', async () => {
    await plant(at.owner, 'delete from audit_outbox');
    const { id } = await storeRequest(lena.database, prepared.action);
    const { settings } = await approveRequest(omar.database, id, prepared.action);

    await Promise.allSettled([prepared.run(omar, settings), prepared.run(omar, settings)]);

    const after = await prepared.state();
    expect(after).not.toEqual(before);
    await Promise.allSettled([prepared.run(omar, settings)]);
    expect(await prepared.state()).toEqual(after);
    expect(await readRequest(lena.database, id)).toMatchObject({
      ...{ status: 'done', requestedBy: lena.login, operatingSystemUser: 'lena', endedBy: omar.login },
    });
    const { rows } = await at.owner.query<{ actor: unknown }>(
      `select e -> 'actor' as actor from audit_outbox cross join jsonb_array_elements(entries) e where e -> 'actor' ->> 'type' = 'operator'`,
    );
    const both = { type: 'operator', name: omar.login, operatingSystemUser: 'omar', requestedBy: lena.login };
    const trails = { ignoreEntry: 0, endDecisions: 0, assignDeposit: 2 } as Partial<
      Record<keyof OperatorActions, number>
    >;
    expect(rows).toEqual(Array.from({ length: trails[name] ?? 1 }, () => ({ actor: both })));
    expect(await findings()).toEqual([]);
  });

  it('needs no request in a sandbox', async () => {
    await becomes('sandbox');

    await prepared.run(omar);

    expect(await prepared.state()).not.toEqual(before);
  });
});

/** The guards, each as the SQL that removes it. What it guarded then goes through, and only that. */
const WITHOUT: Readonly<Record<keyof OperatorActions, string>> = {
  fundAccount: 'post_deposits',
  assignDeposit: 'assign_deposit',
  returnDeposit: 'return_deposit',
  ignoreEntry: 'require_approved_ignoring',
  returnPayout: 'require_approved_payout',
  releasePayout: 'require_approved_decision',
  rejectPayout: 'require_approved_decision',
  endDecisions: 'require_approved_end',
  submitPayoutAgain: 'require_approved_payout',
  resolveDiscrepancy: 'require_approved_resolution',
  resumePayouts: 'require_approved_resumption',
  resumeOrder: 'require_requested_resumption',
};

describe.each(names)('without the guard of %s', (name) => {
  it('the action goes through, and the verification finds what it posted', async () => {
    if (name === 'resumePayouts')
      await plant(at.owner, 'update payout_stop set resumed_at = now(), resumed_by = $$spec$$');
    const { run, state } = await ACTIONS[name]();
    await coverAll();
    const { definition } = await one<{ definition: string }>(
      'select pg_get_functiondef(oid) as definition from pg_proc where proname = $1',
      WITHOUT[name],
    );
    const calls = definition.split(new RegExp(`perform require_second_operator\\(\\s*'${name}'.*?\\);\n`, 's'));
    expect(calls).toHaveLength(2);
    const before = await state();
    await becomes('live');
    await at.owner.query(calls.join('null;\n'));
    try {
      await run(omar);
    } finally {
      await at.owner.query(definition);
    }

    expect(await state()).not.toEqual(before);
    expect((await findings()).length > 0).toBe(POSTING.includes(name));
    await coverAll();
  });
});

describe('outside a sandbox, a deposit', () => {
  let depositId: number;

  beforeEach(async () => {
    await coverAll();
    await becomes('live');
    depositId = await unmatched();
  });

  /** Both operators carry out an action. */
  async function byBoth<T>(action: OperatorAction, run: (settings: ScopeSettings) => Promise<T>): Promise<T> {
    const { id } = await storeRequest(lena.database, action);
    return run((await approveRequest(omar.database, id, action)).settings);
  }

  async function assign(workspaceId: typeof at.north, id: number, to: OpenedAccount): Promise<number> {
    const given = { workspaceId, depositId: id, note };
    const action = { action: 'assignDeposit', arguments: { ...given, accountId: to.id } } as const;
    const assigned = await byBoth(action, (settings) =>
      assignDeposit(openBooks(using(omar, settings)), { ...given, account: to.code }),
    );
    expect(assigned).toMatchObject({ workspaceId: to.workspaceId, accountId: to.id });
    return (assigned as AssignedDeposit).depositId;
  }

  const giveBack = (workspaceId: typeof at.north, id: number) => {
    const given = { workspaceId, depositId: id, note };
    return byBoth({ action: 'returnDeposit', arguments: given }, (settings) =>
      returnDeposit(openBooks(using(omar, settings)), given),
    );
  };

  /** The postings of the deposits of the entry, in their order. */
  const postings = async () =>
    (
      await at.owner.query<{ id: number }>(
        `select x.id::int as id from transaction x join deposit d on coalesce(x.return_of, x.id) = d.transaction_id
         where d.entry_id = (select entry_id from deposit where id = $1) order by x.id`,
        [depositId],
      )
    ).rows.map(({ id }) => id);

  it('is of the worker, which needs no request, wherever operators then take its money', async () => {
    expect(await findings()).toEqual([]);
    const wrong = await assign(at.north, depositId, await at.open(at.south));
    expect(await findings()).toEqual([]);
    const right = await assign(at.south, wrong, await at.open(at.north));
    expect(await findings()).toEqual([]);
    await giveBack(at.north, right);
    expect(await findings()).toEqual([]);
  });

  it('needs a request for each posting after that of the worker', async () => {
    const wrong = await assign(at.north, depositId, await at.open(at.south));
    const right = await assign(at.south, wrong, await at.open(at.north));
    await giveBack(at.north, right);
    const [worker, ...others] = await postings();
    expect(others).toHaveLength(5);

    await plant(at.owner, `delete from operator_posting where transaction_id in (${others.join()})`);

    const details = (await findings()).map(({ detail }) => Number(/\d+/.exec(detail)?.[0])).sort((a, b) => a - b);
    expect(details).toEqual(others);
    expect(details).not.toContain(worker);
  });
});

describe('a request', () => {
  const action = { action: 'ignoreEntry', arguments: { entryId: 1, note } } as const;

  it('has the login that made it, which no caller chooses, and 24 hours', async () => {
    const { id, status } = await storeRequest(lena.database, action);

    expect(status).toBe('open');
    expect(
      await one('select requested_by, expires_at - requested_at as time from operator_request where id = $1', id),
    ).toMatchObject({ requested_by: lena.login });
    expect((await listRequests(omar.database))[0]).toMatchObject({ id, ...action, requestedBy: lena.login });
    for (const column of ['requested_by', 'expires_at', 'status', 'ended_by']) {
      const insert = `insert into operator_request (content, digest, ${column}) select content, digest, ${column} from operator_request limit 1`;
      const update = `update operator_request set ${column} = ${column}`;
      for (const text of [insert, update]) {
        await expect(lena.database.pipeline({}, [sql(text)])).rejects.toMatchObject({
          code: SQLSTATE.insufficientPrivilege,
        });
      }
    }
  });

  it('has the digest of its content', async () => {
    const insert = sql(`insert into operator_request (content, digest) values ('{"arguments":{}}', repeat('0', 64))`);

    await expect(lena.database.pipeline({}, [insert])).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
  });

  it.each([API_ROLE, WORKER_ROLE, VERIFIER_ROLE, PROVISIONING_ROLE])(
    'is not made, read or withdrawn by %s',
    async (role) => {
      for (const text of [
        `insert into operator_request (content, digest) values ('{"arguments":{}}', '')`,
        'select from operator_request',
        'select withdraw_operator_request(1)',
        `select require_second_operator('x', '{}')`,
      ]) {
        await expect(at.database.as(role).pipeline({}, [sql(text)])).rejects.toMatchObject({
          code: SQLSTATE.insufficientPrivilege,
        });
      }
    },
  );

  it('stays as it was made, and once it has ended', async () => {
    const { id } = await storeRequest(lena.database, action);
    await withdrawRequest(lena.database, id);

    expect(await reasonOf(withdrawRequest(lena.database, id))).toBe(
      `The request ${id} is withdrawn. There is nothing to withdraw.`,
    );
    for (const [text, code] of [
      [
        `update operator_request set status = 'open', ended_by = null, ended_at = null where id = ${id}`,
        RULE_VIOLATION.illegalStep,
      ],
      [`update operator_request set expires_at = now() where id = ${id}`, RULE_VIOLATION.recordChanged],
      [`delete from operator_request where id = ${id}`, RULE_VIOLATION.recordChanged],
    ] as const) {
      await expect(at.owner.query(text)).rejects.toMatchObject({ code });
    }
  });
});

describe('the name of an operator in an audit trail', () => {
  it('is that of the login, whatever a caller writes', async () => {
    await plant(at.owner, 'delete from audit_outbox');
    const forged = { type: 'operator', name: 'mallory', operatingSystemUser: 'root', requestedBy: 'mallory' };
    const entry = JSON.stringify([{ operation: 'fundAccount', outcome: 'done', actor: forged }]);
    await lena.database.pipeline({ workspaces: [at.north] }, [
      sql(`insert into audit_outbox (workspace_id, entries) values ($1, $2::jsonb)`, at.north, entry),
    ]);

    const { rows } = await at.owner.query('select entries -> 0 -> $$actor$$ as actor from audit_outbox');
    expect(rows).toEqual([{ actor: { type: 'operator', name: lena.login, operatingSystemUser: 'lena' } }]);
  });

  it.each([API_ROLE, WORKER_ROLE])('is not written by %s', async (role) => {
    const entry = JSON.stringify([{ operation: 'fundAccount', outcome: 'done', actor: { type: 'operator' } }]);
    const insert = sql(`insert into audit_outbox (workspace_id, entries) values ($1, $2::jsonb)`, at.north, entry);

    await expect(at.database.as(role).pipeline({ workspaces: [at.north] }, [insert])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
  });
});
