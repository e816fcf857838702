import { OWNER_ROLE, RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { placedOrder, placeOrders } from '../testing/placed-order.js';
import { demoDatabase, type TestDatabase } from '../testing/test-databases.js';

const HASH = '\\x' + 'a'.repeat(64);
const NEW_ID = 900_001;
const MISSING = 999_999_999;
let world: TestDatabase;
let [north, south] = [0, 0];

beforeAll(async () => {
  const opened = await demoDatabase();
  world = opened;
  [north, south] = [opened.demo.workspaces['Northwind Trading']!, opened.demo.workspaces['Southwind Imports']!];
  // As in each session of the service.
  await world.owner.query('set enable_seqscan = off');
  await world.owner.query('analyze account, transaction, recipient');
  await world.owner.query(
    `insert into recipient (workspace_id, kind, name, account_code, currency_id) values (${south}, 'internal', 'Eve', 'E', 978)`,
  );
});
afterAll(() => world.close());

/** Runs SQL as a role with both workspaces in its scope, and rolls it back. */
async function as<Row extends object>(role: string, ...statements: readonly string[]): Promise<Row[]> {
  await world.owner.query(`begin; set local role ${role}; set local app.workspaces = '{${north},${south}}'`);
  try {
    let rows: Row[] = [];
    for (const text of statements) ({ rows } = await world.owner.query<Row>(text));
    return rows;
  } finally {
    await world.owner.query('rollback');
  }
}

const firstId = async (text: string): Promise<bigint> => (await world.owner.query<{ id: bigint }>(text)).rows[0]!.id;
const ownAccount = (workspaceId: number) =>
  firstId(`select id from account where workspace_id = ${workspaceId} and kind = 'settlement' and currency_id = 978`);
const customer = (workspaceId: number) =>
  firstId(
    `select id from account where workspace_id = ${workspaceId} and kind = 'customer' order by currency_id <> 978, id limit 1`,
  );
const recipient = (workspaceId: number) =>
  firstId(`select id from recipient where workspace_id = ${workspaceId} order by id limit 1`);

interface Side {
  readonly transactionId?: number;
  readonly recipientId?: number | bigint;
  readonly currencyId?: number;
}

/** Writes two credits of an account from the settlement account in one transaction. The first has all references right. */
const writeTransfers = async ({ transactionId = NEW_ID, recipientId, currencyId = 978 }: Side = {}) => {
  const named = recipientId === undefined ? 'null::bigint, null' : `${recipientId}, '${HASH}'`;
  const ownLeg = `row(nextval('transfer_id_seq'), ${await ownAccount(north)}, c.currency_id, 'internal', -5)::own_leg`;
  return `select write_books(
    array[row(${north}, ${NEW_ID}, 'completed', '${HASH}', null, null, null, null, null, null, null, now())::posted_transaction],
    array_agg(row(a.workspace_id, nextval('transfer_id_seq'), c.transaction_id, a.id, c.currency_id, 'credit', 5, 'internal', null, null,
      null, c.recipient, c.digest, a.version + c.n, a.balance + 5 * c.n, array[${ownLeg}], null)::posted_transfer))
    from account a, (values (1, ${NEW_ID}::bigint, 978, null::bigint, null), (2, ${transactionId}, ${currencyId}, ${named}))
      c (n, transaction_id, currency_id, recipient, digest)
    where a.workspace_id = ${north} and a.id = ${await customer(north)}`;
};

const order = (accountId: bigint | number, recipientId: bigint | number) => ({
  accountId: Number(accountId),
  recipientId: Number(recipientId),
});
const place = (...orders: readonly ReturnType<typeof order>[]) => {
  const placed = orders.map((of, index) => placedOrder({ workspaceId: north, id: NEW_ID + index, ...of }));
  const runs = orders.map((_, index) => ({ workspaceId: north, id: NEW_ID + index, orderId: NEW_ID + index }));
  return placeOrders(placed, ...runs);
};

const violation = (constraint: string) => ({ code: SQLSTATE.foreignKeyViolation, constraint });

describe('transfers', () => {
  it('are written if their references exist', async () => {
    await as(OWNER_ROLE, await writeTransfers({ recipientId: await recipient(north) }));
  });

  it('are rejected if one of them has a transaction that does not exist', async () => {
    const attempt = as(OWNER_ROLE, await writeTransfers({ transactionId: MISSING }));

    await expect(attempt).rejects.toMatchObject({ code: RULE_VIOLATION.wrongPosting });
  });

  it.each<[string, () => Promise<Side>, string]>([
    ['a recipient that does not exist', async () => ({ recipientId: MISSING }), 'transfer_recipient'],
    ['a recipient of another workspace', async () => ({ recipientId: await recipient(south) }), 'transfer_recipient'],
    ['another currency than its account has', async () => ({ currencyId: 840 }), 'transfer_account'],
  ])('are rejected if one of them has %s', async (_what, side, constraint) => {
    const attempt = as(OWNER_ROLE, await writeTransfers(await side()));

    await expect(attempt).rejects.toMatchObject(violation(constraint));
  });
});

describe('orders', () => {
  it('are written if their references exist', async () => {
    await as(OWNER_ROLE, place(order(await customer(north), await recipient(north))));
  });

  it.each<[string, () => Promise<ReturnType<typeof order>>, string]>([
    ['an account that does not exist', async () => order(MISSING, await recipient(north)), 'customer_order_account'],
    [
      'an account of another workspace',
      async () => order(await customer(south), await recipient(north)),
      'customer_order_account',
    ],
    ['a recipient that does not exist', async () => order(await customer(north), MISSING), 'customer_order_recipient'],
    [
      'a recipient of another workspace',
      async () => order(await customer(north), await recipient(south)),
      'customer_order_recipient',
    ],
  ])('are rejected if one of them has %s', async (_what, wrong, constraint) => {
    const valid = order(await customer(north), await recipient(north));

    await expect(as(OWNER_ROLE, place(valid, await wrong()))).rejects.toMatchObject(violation(constraint));
  });
});

describe('rows that others refer to', () => {
  it.each([
    ['deletes a recipient', 'delete from beneficiary; delete from recipient'],
    ['empties the recipients', 'truncate recipient cascade'],
    ['deletes a currency', `delete from currency where code = 'XAF'`],
    ['empties the currencies', 'truncate currency cascade'],
    ['deletes an account', 'delete from account'],
    ['deletes a transaction', 'delete from transaction'],
    ['changes the id of a recipient', 'update recipient set id = id + 1000000'],
    ['changes the id of a currency', `update currency set id = 1 where code = 'XAF'`],
    ['changes the currency of an account', 'update account set currency_id = 1'],
    ['changes the id of an account', 'update account set id = id + 1000000'],
    ['changes the id of a transaction', 'update transaction set id = id + 1000000'],
    ['changes the account of an order', 'update customer_order set account_id = 1'],
    ['changes the recipient of an order', 'update customer_order set recipient_id = 1'],
  ])('stay if the owner of the tables %s', async (_what, text) => {
    await expect(as(OWNER_ROLE, text)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
  });
});

describe('the checks of references', () => {
  /** How much more of a counter the tables have after a transfer and an order with all references. */
  async function readBy(counter: 'seq_scan' | 'idx_tup_fetch'): Promise<number> {
    // The counters also contain earlier work of the session.
    const read = `(select sum(${counter}) from pg_stat_xact_user_tables where relname in ('account', 'transaction', 'recipient'))`;
    const before = `select set_config('test.before', ${read}::text, true)`;
    const during = `select (${read} - current_setting('test.before')::int)::int as rows`;
    const orders = place(order(await customer(north), await recipient(north)));
    const transfers = await writeTransfers({ recipientId: await recipient(north) });
    const [counted] = await as<{ rows: number }>(OWNER_ROLE, before, transfers, orders, during);
    return counted!.rows;
  }

  it('read no table from its beginning to its end', async () => {
    expect(await readBy('seq_scan')).toBe(0);
  });

  it('read few rows of tables that have grown since they were planned', async () => {
    await readBy('idx_tup_fetch');
    await world.owner.query(
      `set session_replication_role = replica;
       insert into account (workspace_id, kind, currency_id, product_id, name, type, code)
         select ${north}, 'customer', 978, 1, 'Many', 'CACC', 'M' || n from generate_series(1, 5000) n;
       insert into recipient (workspace_id, kind, name, account_code, currency_id)
         select ${north}, 'internal', 'Many', 'M' || n, 978 from generate_series(1, 5000) n;
       insert into transaction (workspace_id, status, hash)
         select ${north}, 'completed', '${HASH}' from generate_series(1, 5000) n;
       set session_replication_role = origin`,
    );

    expect(await readBy('idx_tup_fetch')).toBeLessThan(500);
  });
});
