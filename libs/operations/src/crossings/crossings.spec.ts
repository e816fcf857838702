import { type Account, minorUnits, type Order, type RecipientId, Refusal } from '@banking/domain';
import { OPERATOR_ROLE, RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { sql, until } from '@banking/postgres/testing';
import { TRIES_MAX } from '@banking/work-queue';
import { recordAudit } from '../audit/record-audit.js';
import { amountOf, crossingWorld, type CrossingWorld } from '../testing/crossing-world.js';
import type { CrossingPort, SubmittedCrossing } from './crossings.js';

let at: CrossingWorld;
let from: Account;
let to: Account;
let recipient: RecipientId;

beforeAll(async () => {
  at = await crossingWorld();
});

afterAll(() => at.close());

describe('crossings', () => {
  let year = 2040;

  beforeEach(async () => {
    [from, to] = [await at.payer(100_000n), await at.payee()];
    recipient = await at.recipientFor(to);
  });

  afterEach(() => {
    expect(at.errors.splice(0)).toEqual([]);
  });

  const statesOf = (order: Order) => order.edges.executions!.map(({ status }) => status);
  const read = (order: Order) => at.paying.getOrder(at.scope, { accountId: from.id, orderId: order.id });
  const setStatus = (status: 'enabled' | 'disabled') => at.paid.changeAccount(at.scope, { accountId: to.id, status });

  const movementsOf = async (account: Account, service = at.paid) =>
    (await service.listTransfers(at.scope, { accountId: account.id })).items.map(
      ({ amount, direction, type, description }) => [`${direction} ${amount}`, type, description],
    );

  describe('a recipient with an account in another database', () => {
    it('is added with its currency, of which the other database is asked only for an unknown code', async () => {
      const code = to.code!;
      const key = { idempotencyKey: `recipient-${code}` };
      const add = () => at.paying.addInternalRecipient(at.scope, { accountCode: code }, key);
      const first = await add();
      at.asked.splice(0);

      expect(await add()).toEqual({ ...first, isReplay: true });
      await at.paying.addInternalRecipient(at.scope, { accountCode: from.code! });
      expect(at.asked).toEqual([]);
    });

    it('is refused as before if no database has the code', async () => {
      const unknown = at.paying.addInternalRecipient(at.scope, { accountCode: 'NOSUCHACCOUNT' });

      await expect(unknown).rejects.toMatchObject({
        reason: 'recipient_invalid',
        details: [{ path: '/accountCode', reason: 'account_unknown' }],
      });
    });
  });

  describe('a payment to an account of another database', () => {
    it('is pending until it has arrived, then completed', async () => {
      const order = await at.order(from.id, recipient, { description: 'Invoice 7' });

      expect([order.status, statesOf(order)]).toEqual(['completed', ['pending']]);
      expect(await at.balanceOf(at.paying, from.id)).toBe(99_900n);
      expect(await movementsOf(to)).toEqual([]);
      await at.settle();
      expect(statesOf(await read(order))).toEqual(['completed']);
      expect(await movementsOf(to)).toEqual([['credit 100', 'internal', 'Invoice 7']]);
      expect(await at.work()).toEqual([]);
    });

    it('comes back if the account takes no money, and the reason tells nothing of its state', async () => {
      const order = await at.order(from.id, recipient, { description: 'Invoice 8' });
      await setStatus('disabled');
      await at.settle();
      await setStatus('enabled');
      await at.settle();

      const [execution] = (await read(order)).edges.executions!;
      expect(execution).toMatchObject({
        status: 'failed',
        failureCode: 'payout_rejected',
        failureMessage: 'The account of the recipient takes no such payment, and the money has come back.',
        edges: { transaction: { status: 'failed', returnedBy: expect.any(Number) as number } },
      });
      expect(await at.balanceOf(at.paying, from.id)).toBe(100_000n);
      expect((await movementsOf(from, at.paying))[0]).toEqual(['credit 100', 'return', 'Returned: Invoice 8']);
      expect(await movementsOf(to)).toEqual([]);
      expect((await at.crossings()).at(-1)).toMatchObject({ status: 'returned', arrivals: ['refused'] });
    });

    it('has an entry of the service in the audit trail, whether it arrives or comes back', async () => {
      const arrived = await at.order(from.id, recipient);
      await at.settle();
      const returned = await at.order(from.id, recipient);
      await setStatus('disabled');
      await at.settle();
      await setStatus('enabled');
      while ((await recordAudit(at.payers.world.database)) > 0);

      const { items } = await at.paying.listAuditEvents(at.scope);
      const idOf = ({ edges }: Order) => edges.executions![0]!.edges.transaction!.id;
      const ofTransactions = items.filter(({ resource }) => resource?.type === 'transaction');
      expect(ofTransactions.slice(0, 2)).toMatchObject([
        { operation: 'failTransaction', resource: { id: idOf(returned) }, actor: { type: 'system' } },
        { operation: 'completeTransaction', resource: { id: idOf(arrived) }, actor: { type: 'system' } },
      ]);
    });

    it('comes back to an account that was disabled', async () => {
      await at.order(from.id, recipient);
      await setStatus('disabled');
      await at.paying.changeAccount(at.scope, { accountId: from.id, status: 'disabled' });

      await at.settle();

      expect(await at.balanceOf(at.paying, from.id)).toBe(100_000n);
    });

    it('is converted at the rate of its quote, and the conversion is reversed if it comes back', async () => {
      const dollars = await at.payer(100_000n, 2);
      const quoted = async () =>
        (
          await at.paying.createQuote(at.scope, {
            accountID: dollars.id,
            recipientID: recipient,
            amount: amountOf(10_000),
          })
        ).resource;
      const pay = (quoteID: number) =>
        at.order(dollars.id, recipient, { amount: amountOf(10_000), quoteID: quoteID as never });
      const first = await quoted();
      await pay(first.id);
      await at.settle();
      const arrived = await at.balanceOf(at.paid, to.id);
      expect(arrived.toString()).toBe(first.targetAmount);
      expect(await movementsOf(to)).toEqual([[`credit ${arrived}`, 'spot', undefined]]);
      const before = await at.balanceOf(at.paying, dollars.id);

      await pay((await quoted()).id);
      await setStatus('disabled');
      await at.settle();

      expect(await at.balanceOf(at.paying, dollars.id)).toBe(before);
      expect(await at.balanceOf(at.paid, to.id)).toBe(arrived);
    });

    it('has no tracking, so an event of a network is refused', async () => {
      const { edges } = await at.order(from.id, recipient);
      const { id: transactionId } = edges.executions![0]!.edges.transaction!;
      const event = at.paying.addTransactionEvent(at.scope, { transactionId, status: 'ACCC' });

      await expect(event).rejects.toMatchObject({ reason: 'transaction_not_found' });
      expect(edges.executions![0]!.edges.transaction!.edges).not.toHaveProperty('internationalRemittance');
      await at.settle();
    });

    it('has the same stored response before and after it arrives', async () => {
      const key = { idempotencyKey: `order-${from.id}` };
      const input = { accountId: from.id, recipientID: recipient, amount: amountOf(100), type: 'instant' } as const;
      const { resource } = await at.paying.placeOrder(at.scope, input, key);
      const replay = async () => JSON.stringify((await at.paying.placeOrder(at.scope, input, key)).resource);

      expect(await replay()).toBe(JSON.stringify(resource));
      await at.settle();
      expect(await replay()).toBe(JSON.stringify(resource));
      expect((await at.crossings()).filter(({ status }) => status === 'due')).toEqual([]);
    });

    it('runs by its schedule, fails the runs that come back, and pauses the order after three of them', async () => {
      year += 1;
      const march = (day: number) => `${year}-03-0${day}T09:00:00Z`;
      const order = await at.order(from.id, recipient, {
        type: 'recurring',
        repeatUnit: 'daily',
        repeatValue: 1,
        startAt: march(1),
      });
      const day = async (number: number) => {
        await at.paying.moveClock(at.scope, { now: march(number) });
        await at.settle();
        return statesOf(await read(order));
      };

      expect(await day(1)).toEqual(['completed', 'scheduled']);
      await setStatus('disabled');
      for (const number of [2, 3, 4]) await day(number);
      expect(await day(5)).toEqual(['completed', 'failed', 'failed', 'failed', 'scheduled']);
      expect(await read(order)).toMatchObject({ status: 'active', pauseReason: 'payouts_rejected' });
      const cancelled = await at.paying.cancelOrder(at.scope, { accountId: from.id, orderId: order.id });
      expect(statesOf(cancelled).at(-1)).toBe('cancelled');
      expect(await at.balanceOf(at.paying, from.id)).toBe(99_900n);
    });
  });

  describe('an account whose workspace has moved to another database', () => {
    const SOUTH = 'Southwind Imports';
    const setState = (state: string) =>
      at.payers.world.owner.query('update cell_workspace set state = $2 where workspace_id = $1', [
        at.payers.world.demo.workspaces[SOUTH],
        state,
      ]);
    afterEach(() => setState('open'));

    it('is paid by a crossing, also by a process that has remembered its former place', async () => {
      const workspaceId = at.payers.world.demo.workspaces[SOUTH] as typeof at.scope.workspaceId;
      const { resource } = await at.paying.openAccount({ workspaceId }, { productID: 1 as never });
      const near = await at.recipientFor(resource);
      expect(statesOf(await at.order(from.id, near))).toEqual(['completed']);
      expect(statesOf(await at.order(from.id, near))).toEqual(['completed']);

      await setState('gone');

      expect(statesOf(await at.order(from.id, near))).toEqual(['pending']);
      expect(statesOf(await at.order(from.id, near))).toEqual(['pending']);
      const refused: CrossingPort = { arrive: () => Promise.resolve('refused') };
      await at.worker(refused).step();
      expect(await at.balanceOf(at.paying, from.id)).toBe(99_800n);
    });
  });

  describe('a database without others', () => {
    it('refuses a payment to an account that does not exist any more, and opens no crossing', async () => {
      const before = (await at.crossings()).length;
      await at.payers.world.owner.query(`
      set session_replication_role = replica;
      create table identity_of_spec as select * from cell_identity;
      delete from cell_identity;
      set session_replication_role = origin`);
      try {
        await expect(at.order(from.id, recipient)).rejects.toMatchObject({ reason: 'recipient_invalid' });
        expect(await at.crossings()).toHaveLength(before);
      } finally {
        await at.payers.world.owner.query('insert into cell_identity select * from identity_of_spec');
        await at.payers.world.owner.query('drop table identity_of_spec');
      }
    });
  });
});

describe('settle crossing', () => {
  beforeEach(async () => {
    [from, to] = [await at.payer(100_000n), await at.payee()];
    recipient = await at.recipientFor(to);
  });

  afterEach(async () => {
    expect(at.errors.splice(0)).toEqual([]);
    expect(await at.work()).toEqual([]);
  });

  const pay = (recipientID = recipient) => at.order(from.id, recipientID);

  const finish = async () => {
    await at.passTime();
    while ((await at.worker().step()) > 0);
  };

  const received = (account = to) => at.balanceOf(at.paid, account.id);

  /** A port whose call is submitted by the spec. */
  const submitted = (crossing: Partial<SubmittedCrossing> = {}): SubmittedCrossing => ({
    originWorkspaceId: 1,
    originTransactionId: 1,
    keyNonce: '0123456789ab',
    accountCode: to.code!,
    currencyId: to.edges.currency!.id,
    amount: minorUnits(100n),
    type: 'internal',
    ...crossing,
  });

  describe('a crossing', () => {
    it('uses no try while a database is unavailable', async () => {
      const away: CrossingPort = { arrive: () => Promise.reject(new Refusal('unavailable')) };
      await pay();

      for (let time = 0; time <= TRIES_MAX; time += 1) {
        await at.worker(away).step();
        await at.passTime();
      }

      expect(await at.work()).toMatchObject([{ tries: 0, reason: 'unavailable', parked_at: null }]);
      expect(at.errors.splice(0)).toHaveLength(TRIES_MAX + 1);
      await finish();
      expect(await received()).toBe(100n);
    });

    it('is parked after ten failures that do not end by themselves, and settles when it is released', async () => {
      const broken: CrossingPort = { arrive: () => Promise.reject(new Error('broken')) };
      await pay();

      for (let time = 0; time < TRIES_MAX; time += 1) {
        await at.worker(broken).step();
        await at.passTime();
      }

      expect(await at.work()).toMatchObject([{ tries: TRIES_MAX, parked_at: expect.any(String) as string }]);
      expect(at.errors.splice(0)).toHaveLength(TRIES_MAX);
      await at.payers.world.owner.query(`update work set parked_at = null, tries = 0`);
      await finish();
      expect(await received()).toBe(100n);
    });

    it('is left unchanged by a worker that was overtaken', async () => {
      const order = await pay();
      const overtaken: CrossingPort = {
        async arrive(crossing) {
          await at.passTime();
          // The other worker has the claim, and no outcome yet.
          await at.worker({ arrive: () => Promise.reject(new Refusal('unavailable')) }).step();
          return at.port.arrive(crossing);
        },
      };

      await at.worker(overtaken).step();

      expect(at.errors.splice(0)).toMatchObject([{ reason: 'unavailable' }]);
      expect((await at.crossings()).at(-1)).toEqual({
        status: 'due',
        transaction: 'pending',
        returns: 0,
        arrivals: ['accepted'],
      });
      await finish();
      expect((await at.crossings()).at(-1)).toMatchObject({ status: 'completed', arrivals: ['accepted'] });
      expect(order.status).toBe('completed');
      expect(await received()).toBe(100n);
    });

    it('settles beside others to the same account, by one and by two workers', async () => {
      for (let count = 0; count < 40; count += 1) await pay();
      const { rows: before } = await at.payees.world.owner.query('select id from unverified_posting');

      await Promise.all([at.worker().step(), at.worker().step()]);
      await finish();

      expect(await received()).toBe(4_000n);
      const { rows: after } = await at.payees.world.owner.query('select id from unverified_posting');
      // Each INSERT of transfers has a row: both workers share one queue of arrivals here.
      expect(after.length - before.length).toBeLessThanOrEqual(4);
    });
  });

  describe('an arrival', () => {
    it('is one for its key, however often it is submitted', async () => {
      const crossing = submitted();
      const outcomes = await Promise.all([1, 2, 3].map(() => at.port.arrive(crossing)));

      expect(outcomes).toEqual(['accepted', 'accepted', 'accepted']);
      expect(await at.port.arrive(crossing)).toBe('accepted');
      expect(await received()).toBe(100n);
    });

    it('is another one for another random part, as after a restore that gives ids again', async () => {
      await at.port.arrive(submitted({ originTransactionId: 2 }));
      await at.port.arrive(submitted({ originTransactionId: 2, keyNonce: 'ba9876543210' }));

      expect(await received()).toBe(200n);
    });

    it('is refused for an account that does not exist, in another currency, or elsewhere, and stays refused', async () => {
      const key = { originTransactionId: 3 };
      const dollar = await at.payee(2);
      const faulty = [
        submitted({ ...key, accountCode: 'BA00000000000000' }),
        submitted({ ...key, keyNonce: 'bbbbbbbbbbbb', accountCode: dollar.code! }),
      ];

      for (const crossing of faulty) {
        expect(await at.port.arrive(crossing)).toBe('refused');
        expect(await at.port.arrive(crossing)).toBe('refused');
      }
      const other = at.port.arrive(submitted({ ...key, accountCode: to.code! }));
      await expect(other).rejects.toThrow('the key of a crossing has arrived with another payment');
      expect([await received(), await received(dollar)]).toEqual([0n, 0n]);
    });

    it('has the outcome of another process that has refused it meanwhile', async () => {
      const crossing = submitted({ originTransactionId: 6, accountCode: 'BA00000000000000' });
      const { owner, database } = at.payees.world;
      await owner.query('begin');
      await owner.query(
        `insert into arrival (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce, account_code, currency_id, amount, outcome)
       values ($1, 1, 6, $2, $3, $4, 100, 'refused')`,
        [at.scope.workspaceId, crossing.keyNonce, crossing.accountCode, crossing.currencyId],
      );
      const arriving = at.port.arrive(crossing);
      const isWaiting = async () => {
        const query = sql<{ waits: boolean }>('select exists (select from pg_locks where not granted) as waits');
        return (await database.read({}, query))?.waits;
      };
      await until(isWaiting);
      await owner.query('commit');

      expect(await arriving).toBe('refused');
    });

    it('waits for an account that another session has locked, and delays no other', async () => {
      const free = await at.payee();
      const { owner } = at.payees.world;
      await owner.query('begin');
      await owner.query('select from account where id = $1 for no key update', [to.id]);

      const waiting = at.port.arrive(submitted({ originTransactionId: 4 }));
      const other = at.port.arrive(submitted({ originTransactionId: 5, accountCode: free.code! }));

      expect(await other).toBe('accepted');
      await owner.query('commit');
      expect(await waiting).toBe('accepted');
      expect([await received(), await received(free)]).toEqual([100n, 100n]);
    });
  });
});

describe('crossing constraints', () => {
  beforeAll(async () => {
    from = await at.payer(100_000n);
    recipient = await at.recipientFor(await at.payee());
  });

  const writeTo = (side: 'payers' | 'payees', ...statements: string[]) =>
    at[side].world.database.pipeline(
      { workspaces: [at.scope.workspaceId] },
      statements.map((text) => sql(text)),
    );

  // The constraints bind every role that could write.
  beforeAll(async () => {
    for (const { world } of [at.payers, at.payees]) {
      await world.owner.query(`grant insert on transaction, transfer, arrival, crossing to ${OPERATOR_ROLE}`);
      await world.owner.query(`grant update (status) on transaction, crossing to ${OPERATOR_ROLE}`);
    }
  });

  /** The id of a new pending payment to the other database. */
  async function payment(): Promise<number> {
    const { edges } = await at.order(from.id, recipient);
    return edges.executions![0]!.edges.transaction!.id;
  }

  const missing = { code: RULE_VIOLATION.wrongCrossing };

  const step = (table: 'crossing' | 'transaction', id: number, status: string) =>
    `update ${table} set status = '${status}' where ${table === 'crossing' ? 'transaction_id' : 'id'} = ${id}`;

  describe('the database of the payer', () => {
    it('opens a crossing with its work for a pending payment, and refuses another one', async () => {
      const id = await payment();
      const { rows: opened } = await at.payers.world.owner.query(
        `select c.account_code = (select account_code from recipient where id = $2) as "isOfRecipient", c.amount, c.status, k.kind
         from crossing c join work k on k.workspace_id = c.workspace_id and k.subject_id = c.transaction_id where c.transaction_id = $1`,
        [id, recipient],
      );
      expect(opened).toEqual([
        { isOfRecipient: true, amount: expect.any(BigInt) as bigint, status: 'due', kind: 'crossing' },
      ]);
      const copied = `insert into transaction (workspace_id, id, status, hash)
      select workspace_id, 900, 'pending', hash from transaction where id = ${id}`;
      const legs = `insert into transfer (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type, account_version,
                                          balance_after, own_legs)
       select a.workspace_id, 900, 900, a.id, a.currency_id, 'debit', 5, 'internal', a.version + 1, a.balance - 5,
              array[row(901, o.id, o.currency_id, 'internal', 5)::own_leg]
       from account a join account o on o.workspace_id = a.workspace_id and o.currency_id = a.currency_id and o.kind = 'interworkspace'
       where a.id = ${from.id}`;

      const crossing = (amount: number) =>
        `insert into crossing (workspace_id, transaction_id, account_code, currency_id, amount)
       values (${at.scope.workspaceId}, 900, 'BA1', ${from.edges.currency!.id}, ${amount})`;
      await expect(writeTo('payers', copied, legs, crossing(6))).rejects.toMatchObject(missing);
      await expect(writeTo('payers', crossing(5))).rejects.toMatchObject(missing);
      await expect(
        writeTo('payers', copied.replace(`'pending'`, `'completed'`), legs, crossing(5)),
      ).rejects.toMatchObject(missing);
      await expect(writeTo('payers', copied, legs, crossing(5))).resolves.toBeDefined();
      await at.payers.world.owner.query(
        'update account set version = version + 1, balance = balance - 5 where id = $1',
        [from.id],
      );
    });

    it('refuses a crossing and a transaction that do not end together', async () => {
      const id = await payment();

      await expect(writeTo('payers', step('crossing', id, 'completed'))).rejects.toMatchObject(missing);
      for (const status of ['completed', 'failed']) {
        await expect(writeTo('payers', step('transaction', id, status))).rejects.toMatchObject(missing);
      }
      const returned = [step('crossing', id, 'returned'), step('transaction', id, 'failed')];
      await expect(writeTo('payers', ...returned)).rejects.toMatchObject(missing);
      await expect(
        writeTo('payers', step('crossing', id, 'completed'), step('transaction', id, 'failed')),
      ).rejects.toMatchObject(missing);
      await expect(
        writeTo('payers', step('crossing', id, 'completed'), step('transaction', id, 'completed')),
      ).resolves.toBeDefined();
      await expect(writeTo('payers', step('crossing', id, 'due'))).rejects.toMatchObject({
        code: RULE_VIOLATION.illegalStep,
      });
    });

    it('refuses to change or delete a crossing', async () => {
      const id = await payment();
      const { owner } = at.payers.world;

      for (const text of [
        `update crossing set amount = 1 where transaction_id = ${id}`,
        `update crossing set key_nonce = '000000000000' where transaction_id = ${id}`,
        `delete from crossing where transaction_id = ${id}`,
        'truncate crossing',
      ]) {
        await expect(owner.query(text)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
      }
      await expect(writeTo('payers', 'update crossing set amount = 1')).rejects.toMatchObject({
        code: SQLSTATE.insufficientPrivilege,
      });
    });
  });

  describe('the database of the payee', () => {
    it('refuses an arrival without its transaction, and one transaction for two', async () => {
      await payment();
      await at.worker().step();
      const [arrived] = (
        await at.payees.world.owner.query<Record<string, unknown>>(`select * from arrival where outcome = 'accepted'`)
      ).rows;
      const insert = (change: Record<string, unknown>) => {
        const row: Record<string, unknown> = { ...arrived, key_nonce: 'ffffffffffff', ...change };
        delete row.created_at;
        const values = Object.values(row).map((value) => (value === null ? 'null' : `'${String(value)}'`));
        return writeTo('payees', `insert into arrival (${Object.keys(row).join()}) values (${values.join()})`);
      };

      await expect(insert({})).rejects.toMatchObject({ code: SQLSTATE.uniqueViolation });
      const wrong = { code: RULE_VIOLATION.wrongArrival };
      await expect(insert({ transaction_id: 987 })).rejects.toMatchObject(wrong);
      const free = `alter table arrival drop constraint arrival_workspace_id_transaction_id_key`;
      await at.payees.world.owner.query(free);
      for (const change of [{ amount: 99 }, { currency_id: 978 }, { account_code: from.code! }]) {
        await expect(insert(change)).rejects.toMatchObject(wrong);
      }
      await expect(insert({ outcome: 'refused' })).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
    });

    it('refuses to change or delete an arrival', async () => {
      const { owner } = at.payees.world;
      for (const text of [`update arrival set amount = 1`, 'delete from arrival', 'truncate arrival']) {
        await expect(owner.query(text)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
      }
    });
  });
});
