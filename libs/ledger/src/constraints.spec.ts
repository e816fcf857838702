import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import {
  account,
  euros,
  holding,
  NORTH,
  openWorld,
  payout,
  plant,
  posted,
  raw,
  type RawLeg,
  settlement,
  SOUTH,
  USD,
  type World,
  writeRaw,
} from './testing/world.js';

let world: World;
let ada: number;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const asApp = (text: string, ...values: unknown[]) =>
  world.database.pipeline({ workspaces: [NORTH] }, [sql(text, ...values)]);

describe('record constraints', () => {
  const NO_RIGHT = { code: SQLSTATE.insufficientPrivilege };
  const APPEND_ONLY = { code: RULE_VIOLATION.recordChanged };
  const ILLEGAL_STEP = { code: RULE_VIOLATION.illegalStep };

  beforeAll(async () => {
    ada = await account(world, '10.00');
    await posted(world, payout(ada, euros('1.00'), euros('0.10')));
  });

  const ACCOUNT = `insert into account (workspace_id, kind, currency_id, product_id, name, type, code`;

  describe('the role of the app', () => {
    it.each([
      ['edits a balance', 'update account set balance = balance + 1'],
      ['edits a version', 'update account set version = version + 1'],
      ['edits when a balance was reached', 'update account set balance_at = now()'],
      ['moves an account to another currency', 'update account set currency_id = 840'],
      ['makes an account one of our own', `update account set kind = 'fees'`],
      [
        'opens an account that holds something',
        `${ACCOUNT}, balance) values (1, 'customer', 978, 1, 'Ada', 'CACC', 'X1', 1)`,
      ],
      ['opens an account at a version', `${ACCOUNT}, version) values (1, 'customer', 978, 1, 'Ada', 'CACC', 'X2', 1)`],
      [
        'opens an account in the past',
        `${ACCOUNT}, created_at) values (1, 'customer', 978, 1, 'Ada', 'CACC', 'X4', '2020-01-01')`,
      ],
      ['edits a transfer', 'update transfer set amount = amount + 1'],
      ['removes a transfer', 'delete from transfer'],
      ['empties the transfers', 'truncate transfer'],
      [
        'books a transfer in the past',
        `insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, created_at)
       values (1, 1, 1, 978, 'debit', 1, 'internal', '2020-01-01')`,
      ],
      [
        'books a transaction more than a second before its database transaction began',
        `insert into transaction (workspace_id, status, hash, created_at, updated_at)
       values (1, 'completed', decode(repeat('a', 64), 'hex'), now() - interval '1.000001 s', now() - interval '1.000001 s')`,
      ],
      ['sets a head', `update account set head = decode(repeat('b', 64), 'hex')`],
      ['edits a hash', `update transaction set hash = decode(repeat('0', 64), 'hex')`],
      ['edits a digest', `update transaction set order_digest = decode(repeat('0', 64), 'hex')`],
      ['removes a transaction', 'delete from transaction'],
      ['empties the transactions', 'truncate transaction cascade'],
      ['removes an account', 'delete from account'],
      ['empties the accounts', 'truncate account cascade'],
      ['puts triggers out of force', 'alter table transfer disable trigger all'],
      ['puts triggers out of force for itself', `set session_replication_role = 'replica'`],
      ['lifts row-level security', 'alter table transfer no force row level security'],
      [
        'writes its own version of a trigger',
        'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return old; end $$',
      ],
      ['draws ids back', `select setval('transaction_id_seq', 1)`],
    ])('has no right if it %s', async (_what, text) => {
      await expect(asApp(text)).rejects.toMatchObject(NO_RIGHT);
    });

    it('renames an account', async () => {
      await asApp(`update account set alias = 'Savings' where workspace_id = $1 and id = $2`, NORTH, ada);
    });
  });

  describe('the owner of the tables', () => {
    const asOwner = async (text: string) => {
      await world.owner.query('begin');
      try {
        await world.owner.query(`set local role banking_owner; set local app.workspaces = '{1}'`);
        await world.owner.query(text);
      } finally {
        await world.owner.query('rollback');
      }
    };

    it.each([
      ['edits a transfer', 'update transfer set amount = amount + 1'],
      ['removes a transfer', 'delete from transfer'],
      ['empties the transfers', 'truncate transfer'],
      ['edits a hash', `update transaction set hash = decode(repeat('0', 64), 'hex')`],
      ['edits the digest of an order', `update transaction set order_digest = decode(repeat('0', 64), 'hex')`],
      ['edits the digest of a conversion', `update transaction set conversion_digest = decode(repeat('0', 64), 'hex')`],
      ['removes a transaction', 'delete from transaction'],
      ['empties the transactions', 'truncate transaction cascade'],
      ['removes an account', 'delete from account'],
      ['empties the accounts', 'truncate account cascade'],
    ])('fails where a query %s: the books are append-only', async (_what, text) => {
      await expect(asOwner(text)).rejects.toMatchObject(APPEND_ONLY);
    });

    it('cannot take a customer account below zero', async () => {
      await expect(asOwner('update account set balance = -1')).rejects.toMatchObject({
        code: SQLSTATE.checkViolation,
      });
    });
  });

  describe('a transfer', () => {
    it.each([
      ['has a recipient without its digest', '12, null'],
      ['has a digest without a recipient', `null, decode(repeat('d', 64), 'hex')`],
      ['has a digest of another length', `12, decode(repeat('d', 62), 'hex')`],
    ])('is refused if it %s', async (_what, columns) => {
      const transfer = asApp(
        `insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version,
                             balance_after, recipient_id, recipient_digest)
       select workspace_id, transaction_id, account_id, currency_id, 'debit', 1, 'payout', account_version + 1, balance_after - 1, ${columns}
       from transfer where workspace_id = $1 order by account_version desc limit 1`,
        NORTH,
      );

      await expect(transfer).rejects.toMatchObject({ constraint: 'transfer_recipient_digest' });
    });
  });

  describe('a transaction', () => {
    it.each([
      ['a short hash', `decode(repeat('a', 62), 'hex')`, 'null', 'transaction_hash_check'],
      ['a long digest', `decode(repeat('a', 64), 'hex')`, `decode(repeat('a', 66), 'hex')`, 'transaction_digests'],
    ])('is refused with %s', async (_what, hash, digest, constraint) => {
      const transaction = asApp(
        `insert into transaction (workspace_id, status, hash, order_digest)
       values ($1, 'completed', ${hash}, ${digest})`,
        NORTH,
      );

      await expect(transaction).rejects.toMatchObject({ constraint });
    });

    const step = (status: string) => asApp('update transaction set status = $2 where workspace_id = $1', NORTH, status);
    const given = (status: string) => plant(world, 'update transaction set status = $1', [status]);

    it.each([
      ['pending', 'completed'],
      ['pending', 'failed'],
      ['completed', 'completed'],
    ])('may go from %s to %s', async (from, to) => {
      await given(from);

      await step(to);
    });

    it.each([
      ['completed', 'pending'],
      ['completed', 'failed'],
      ['failed', 'pending'],
      ['failed', 'completed'],
    ])('may not go from %s to %s', async (from, to) => {
      await given(from);

      await expect(step(to)).rejects.toMatchObject(ILLEGAL_STEP);
    });

    it('may not take an unknown status', async () => {
      await given('pending');

      await expect(step('lost')).rejects.toMatchObject({
        code: expect.stringMatching(`^(${RULE_VIOLATION.illegalStep}|${SQLSTATE.checkViolation})$`) as string,
      });
    });

    it('may not be returned twice', async () => {
      const back = () =>
        asApp(
          `insert into transaction (workspace_id, status, hash, return_of)
         select workspace_id, 'completed', decode(repeat('c', 64), 'hex'), min(id) from transaction
         where workspace_id = $1 and return_of is null group by workspace_id`,
          NORTH,
        );

      await back();

      await expect(back()).rejects.toMatchObject({ code: SQLSTATE.uniqueViolation });
    });
  });
});

describe('transfer constraints', () => {
  const OUT_OF_BALANCE = { code: RULE_VIOLATION.unbalancedTransaction };
  const NOT_CONTINUED = { code: RULE_VIOLATION.discontinuousTransfer };
  const FOREIGN_KEY = { code: SQLSTATE.foreignKeyViolation };
  const CHECK = { code: SQLSTATE.checkViolation };

  /** Holds five euros at version 1. */
  let bob: number;
  let ours: number;

  beforeEach(async () => {
    ada = await account(world, '10.00');
    bob = await account(world, '5.00');
    ours = await settlement(world);
  });

  /** A valid payment of two euros from Ada to Bob. */
  const fromAda = (): RawLeg => ({ account: ada, direction: 'debit', amount: 200, version: 2, after: 800 });
  const toBob = (): RawLeg => ({ account: bob, direction: 'credit', amount: 200, version: 2, after: 700 });

  const untouched = async () => {
    expect(await holding(world, ada)).toEqual({ balance: 1_000n, version: 1n });
    expect(await holding(world, bob)).toEqual({ balance: 500n, version: 1n });
  };

  describe('balanced transfers written without the code of the ledger', () => {
    it('move the balances', async () => {
      await writeRaw(world, fromAda(), toBob());

      expect(await holding(world, ada)).toEqual({ balance: 800n, version: 2n });
      expect(await holding(world, bob)).toEqual({ balance: 700n, version: 2n });
    });

    it('leave the last balance of an account that moves several times', async () => {
      await writeRaw(world, { ...fromAda(), version: 3, after: 500, amount: 300 }, fromAda(), {
        account: ours,
        direction: 'credit',
        amount: 500,
      });

      expect(await holding(world, ada)).toEqual({ balance: 500n, version: 3n });
    });
  });

  describe('transfers that do not add up', () => {
    afterEach(untouched);

    it.each<[string, () => RawLeg[], object]>([
      ['there is one side only', () => [fromAda()], OUT_OF_BALANCE],
      ['the sides differ', () => [fromAda(), { ...toBob(), amount: 201, after: 701 }], OUT_OF_BALANCE],
      [
        'only the sum over two currencies is zero',
        () => [fromAda(), { account: ours, direction: 'credit', amount: 200, currencyId: USD }],
        {
          code: expect.stringMatching(
            `^(${RULE_VIOLATION.unbalancedTransaction}|${SQLSTATE.foreignKeyViolation})$`,
          ) as string,
        },
      ],
      [
        'a customer’s account moves without a version',
        () => [{ account: ada, direction: 'debit', amount: 200 }, toBob()],
        FOREIGN_KEY,
      ],
      [
        'our own account moves with a version',
        () => [fromAda(), { account: ours, direction: 'credit', amount: 200, version: 1, after: 200 }],
        FOREIGN_KEY,
      ],
      ['a version is left out', () => [{ ...fromAda(), version: 3 }, toBob()], NOT_CONTINUED],
      [
        'a version is left out in the middle',
        () => [
          fromAda(),
          { ...fromAda(), version: 4, after: 600 },
          { account: ours, direction: 'credit', amount: 400 },
        ],
        NOT_CONTINUED,
      ],
      ['a version is written again', () => [{ ...fromAda(), version: 1 }, toBob()], { code: SQLSTATE.uniqueViolation }],
      ['the balance after it is not what is left', () => [{ ...fromAda(), after: 900 }, toBob()], NOT_CONTINUED],
      [
        'a balance in the middle is not what is left',
        () => [
          { ...fromAda(), after: 900 },
          { ...fromAda(), version: 3, after: 600 },
          { account: ours, direction: 'credit', amount: 400 },
        ],
        NOT_CONTINUED,
      ],
      [
        'it goes below zero',
        () => [
          { ...fromAda(), amount: 1_001, after: -1 },
          { ...toBob(), amount: 1_001, after: 1_501 },
        ],
        NOT_CONTINUED,
      ],
      [
        'it goes below zero in the middle',
        () => [
          { ...fromAda(), amount: 1_001, after: -1 },
          { ...fromAda(), direction: 'credit', amount: 1_001, version: 3, after: 1_000 },
        ],
        NOT_CONTINUED,
      ],
      [
        'it takes a balance beyond what a JSON integer holds',
        () => [
          { account: ours, direction: 'debit', amount: 9_007_199_254_740_991n },
          { ...toBob(), amount: 9_007_199_254_740_991n, after: 9_007_199_254_741_491n },
        ],
        CHECK,
      ],
      [
        'it does so in the middle, where a snapshot would show it',
        () => [
          { ...toBob(), amount: 9_007_199_254_740_991n, after: 9_007_199_254_741_491n },
          { ...toBob(), direction: 'debit', amount: 9_007_199_254_740_991n, version: 3, after: 500 },
        ],
        CHECK,
      ],
      [
        'its currency is not the account’s',
        () => [
          { ...fromAda(), currencyId: USD },
          { ...toBob(), currencyId: USD },
        ],
        FOREIGN_KEY,
      ],
      [
        'it moves nothing',
        () => [
          { ...fromAda(), amount: 0, after: 1_000 },
          { ...toBob(), amount: 0, after: 500 },
        ],
        CHECK,
      ],
      [
        'the account is not there',
        () => [fromAda(), { account: 999_999, direction: 'credit', amount: 200 }],
        {
          code: expect.stringMatching(
            `^(${RULE_VIOLATION.discontinuousTransfer}|${SQLSTATE.foreignKeyViolation})$`,
          ) as string,
        },
      ],
    ])('are rejected where %s', async (_what, legs, refusal) => {
      await expect(writeRaw(world, ...legs())).rejects.toMatchObject(refusal);
    });

    it.each<[string, (settlement: number) => string]>([
      ['without an id', (id) => `row(null, ${id}, 978, 'internal', 200)`],
      ['of an id below zero', (id) => `row(-1, ${id}, 978, 'internal', 200)`],
      ['without an account', () => `row(1000001, null, 978, 'internal', 200)`],
      ['without a type', (id) => `row(1000001, ${id}, 978, null, 200)`],
      ['without a currency', (id) => `row(1000001, ${id}, null, 'internal', 200)`],
      ['without an amount', (id) => `row(1000001, ${id}, 978, 'internal', null)`],
      [
        'of nothing beside a whole one',
        (id) => `row(1000001, ${id}, 978, 'internal', 200)::own_leg, row(1000002, ${id}, 978, 'internal', 0)`,
      ],
      [
        'of the id of another',
        (id) => `row(1000001, ${id}, 978, 'internal', 100)::own_leg, row(1000001, ${id}, 978, 'internal', 100)`,
      ],
      [
        'of more than an amount can be',
        (id) =>
          `row(1000001, ${id}, 978, 'internal', -9223372036854775808)::own_leg, row(1000002, ${id}, 978, 'internal', 9223372036854775807),
           row(1000003, ${id}, 978, 'internal', 201)`,
      ],
      ['that is null beside a whole one', (id) => `row(1000001, ${id}, 978, 'internal', 200)::own_leg, null`],
    ])('are rejected with a leg of our own %s', async (_what, leg) => {
      const written = asApp(
        `select write_books(
           array[row($1::bigint, 1000001, 'completed', decode(repeat('a', 64), 'hex'), null, null, null, null, null, null, null,
                   statement_timestamp())::posted_transaction],
           array[row($1::bigint, nextval('transfer_id_seq'), 1000001, $2::bigint, 978, 'debit', 200, 'internal', null, null, null, null,
             null, 2, 800, array[${leg(ours)}]::own_leg[], null)::posted_transfer])`,
        NORTH,
        ada,
      );

      await expect(written).rejects.toMatchObject(OUT_OF_BALANCE);
    });
  });

  it.each<[string, number, string]>([
    ['a transaction', -5, `nextval('transfer_id_seq')`],
    ['a transfer', 1_000_002, '-6'],
  ])('refuse %s whose id is below zero, where no reader would find it', async (_what, transactionId, transferId) => {
    const written = asApp(
      `select write_books(
         array[row($1::bigint, $3::bigint, 'completed', decode(repeat('a', 64), 'hex'), null, null, null, null, null, null, null,
                   statement_timestamp())::posted_transaction],
         array[row($1::bigint, ${transferId}, $3::bigint, $2::bigint, 978, 'debit', 200, 'internal', null, null, null, null, null, 2, 800,
                   null, null)::posted_transfer,
               row($1::bigint, nextval('transfer_id_seq'), $3::bigint, $4::bigint, 978, 'credit', 200, 'internal', null, null, null, null,
                   null, 2, 700, null, null)::posted_transfer])`,
      NORTH,
      ada,
      transactionId,
      bob,
    );

    await expect(written).rejects.toMatchObject(CHECK);
  });

  describe('a disabled account', () => {
    it('takes returned money only', async () => {
      await asApp(`update account set status = 'disabled' where workspace_id = $1 and id = $2`, NORTH, bob);

      await expect(writeRaw(world, fromAda(), toBob())).rejects.toMatchObject(NOT_CONTINUED);
      await writeRaw(world, { ...toBob(), type: 'return' }, { account: ours, direction: 'debit', amount: 200 });

      expect(await holding(world, bob)).toEqual({ balance: 700n, version: 2n });
    });
  });
});

describe('workspace constraints', () => {
  const ROW_SECURITY = {
    code: SQLSTATE.insufficientPrivilege,
    message: expect.stringContaining('row-level security') as string,
  };

  let eve: number;

  beforeAll(async () => {
    await account(world, '10.00');
    eve = await account(world, '20.00', { workspaceId: SOUTH });
  });

  describe.each([
    ['no scope', {}],
    ['an empty scope', { workspaces: [] }],
    ['the scope of another workspace', { workspaces: [NORTH] }],
  ])('%s', (_what, scope) => {
    it.each(['account', 'transaction', 'transfer'])('reads no rows of %s of a workspace', async (table) => {
      const rows = await world.database.read(
        scope,
        sql(`select count(*)::int as seen from ${table} where workspace_id = $1`, SOUTH),
      );

      expect(rows).toEqual({ seen: 0 });
    });

    it('cannot write rows of a workspace', async () => {
      const booked = sql(
        `insert into transaction (workspace_id, status, hash) values ($1, 'completed', decode(repeat('a', 64), 'hex'))`,
        SOUTH,
      );
      const opened = sql(
        `insert into account (workspace_id, kind, currency_id, product_id, name, type, code) values ($1, 'customer', 978, 1, 'Eve', 'CACC', 'E2')`,
        SOUTH,
      );
      const moved = raw(
        [
          { account: eve, direction: 'debit', amount: 1, version: 2, after: 1_999 },
          { account: eve, direction: 'credit', amount: 1, version: 3, after: 2_000 },
        ],
        SOUTH,
      );

      await expect(world.database.pipeline(scope, [booked])).rejects.toMatchObject(ROW_SECURITY);
      await expect(world.database.pipeline(scope, [opened])).rejects.toMatchObject(ROW_SECURITY);
      await expect(world.database.pipeline(scope, [moved])).rejects.toMatchObject({
        code: SQLSTATE.foreignKeyViolation,
      });
    });

    it('cannot change or lock rows of a workspace', async () => {
      const changed = sql(`update account set alias = 'mine' where workspace_id = $1 returning id`, SOUTH);
      const locked = sql('select id from account where id = $1 for no key update', eve);

      expect(await world.database.pipeline(scope, [changed, locked])).toEqual([[], []]);
    });
  });

  describe('the scope of one workspace', () => {
    it('cannot move a row to another workspace', async () => {
      const moved = sql('update account set workspace_id = $1', SOUTH);

      await expect(world.database.pipeline({ workspaces: [NORTH] }, [moved])).rejects.toMatchObject({
        code: SQLSTATE.insufficientPrivilege,
      });
    });

    it('cannot name an account of another workspace in a transfer', async () => {
      const ours = await settlement(world);
      const legs = raw([
        { account: ours, direction: 'credit', amount: 1 },
        { account: eve, direction: 'debit', amount: 1, version: 2, after: 1_999 },
      ]);

      await expect(world.database.pipeline({ workspaces: [NORTH] }, [legs])).rejects.toMatchObject({
        code: expect.stringMatching(
          `^(${SQLSTATE.foreignKeyViolation}|${RULE_VIOLATION.discontinuousTransfer})$`,
        ) as string,
      });
      expect(await holding(world, eve)).toEqual({ balance: 2_000n, version: 1n });
    });
  });

  describe('the scope of two workspaces', () => {
    it('reads both workspaces and no third', async () => {
      await account(world, '30.00', { workspaceId: 3 });

      const [seen] = await world.database.pipeline({ workspaces: [NORTH, SOUTH] }, [
        sql('select distinct workspace_id from account order by 1'),
      ] as const);

      expect(seen).toEqual([{ workspace_id: 1n }, { workspace_id: 2n }]);
    });
  });

  describe('a function that moves balances', () => {
    it('has an owner that row-level security binds and that cannot log in', async () => {
      const { rows } = await world.owner.query(
        `select r.rolsuper, r.rolbypassrls, r.rolcanlogin, bool_and(c.relforcerowsecurity) as forced
       from pg_proc p join pg_roles r on r.oid = p.proowner
       join pg_class c on c.relowner = r.oid and c.relname in ('account', 'transaction', 'transfer')
       where p.oid = 'post_payments'::regproc group by 1, 2, 3`,
      );

      expect(rows).toEqual([{ rolsuper: false, rolbypassrls: false, rolcanlogin: false, forced: true }]);
    });
  });
});
