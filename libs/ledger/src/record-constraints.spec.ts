import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { account, NORTH, openWorld, plant, posted, euros, type World } from './testing/world.js';
import { payout } from './testing/proposals.js';

const NO_RIGHT = { code: SQLSTATE.insufficientPrivilege };
const APPEND_ONLY = { code: RULE_VIOLATION.recordChanged };
const ILLEGAL_STEP = { code: RULE_VIOLATION.illegalStep };

let world: World;
let ada: number;

beforeAll(async () => {
  world = await openWorld();
  ada = await account(world, '10.00');
  await posted(world, payout(ada, euros('1.00'), euros('0.10')));
});
afterAll(() => world.close());

const asApp = (text: string, ...values: unknown[]) =>
  world.database.pipeline({ workspaces: [NORTH] }, [sql(text, ...values)]);

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
      'books a transaction in the future',
      `insert into transaction (workspace_id, status, hash, created_at, updated_at)
       values (1, 'completed', repeat('a', 64), statement_timestamp() + interval '1 ms', statement_timestamp() + interval '1 ms')`,
    ],
    [
      'books a transaction before its database transaction began',
      `insert into transaction (workspace_id, status, hash, created_at, updated_at)
       values (1, 'completed', repeat('a', 64), now() - interval '1 us', now() - interval '1 us')`,
    ],
    ['sets a head', `update account set head = repeat('b', 64)`],
    ['edits a hash', `update transaction set hash = repeat('0', 64)`],
    ['edits a digest', `update transaction set order_digest = repeat('0', 64)`],
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
    ['edits a hash', `update transaction set hash = repeat('0', 64)`],
    ['edits the digest of an order', `update transaction set order_digest = repeat('0', 64)`],
    ['edits the digest of a conversion', `update transaction set conversion_digest = repeat('0', 64)`],
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
    ['has a digest without a recipient', `null, repeat('d', 64)`],
    ['has a digest of another length', `12, 'abc'`],
    ['has a digest with capital letters', `12, repeat('D', 64)`],
    ['has a digest with a line break', `12, repeat('d', 63) || e'\\n'`],
  ])('is refused if it %s', async (_what, columns) => {
    const transfer = asApp(
      `insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, recipient_id,
                             recipient_digest)
       select workspace_id, transaction_id, account_id, currency_id, d, 1, 'payout', ${columns}
       from (select * from transfer where workspace_id = $1 and account_version is null limit 1) t, unnest(array['debit', 'credit']) d`,
      NORTH,
    );

    await expect(transfer).rejects.toMatchObject({ constraint: 'transfer_recipient_digest' });
  });
});

describe('a transaction', () => {
  it.each([
    ['a short hash', `repeat('a', 63)`, 'null', 'transaction_hash_check'],
    ['a hash with capital letters', `repeat('A', 64)`, 'null', 'transaction_hash_check'],
    ['a long digest', `repeat('a', 64)`, `repeat('a', 65)`, 'transaction_digests'],
    ['a digest with another letter', `repeat('a', 64)`, `repeat('g', 64)`, 'transaction_digests'],
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
         select workspace_id, 'completed', repeat('c', 64), min(id) from transaction
         where workspace_id = $1 and return_of is null group by workspace_id`,
        NORTH,
      );

    await back();

    await expect(back()).rejects.toMatchObject({ code: SQLSTATE.uniqueViolation });
  });
});
