import type { Account, RecipientId } from '@banking/domain';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { crossingWorld, type CrossingWorld } from '../testing/crossing-world.js';

let at: CrossingWorld;
let from: Account;
let recipient: RecipientId;

beforeAll(async () => {
  at = await crossingWorld();
  from = await at.payer(100_000n);
  recipient = await at.recipientFor(await at.payee());
});
afterAll(() => at.close());

const writeTo = (side: 'payers' | 'payees', ...statements: string[]) =>
  at[side].world.database.pipeline(
    { workspaces: [at.scope.workspaceId] },
    statements.map((text) => sql(text)),
  );
/** The id of a new pending payment to the other database. */
async function payment(): Promise<number> {
  const { edges } = await at.order(from.id, recipient);
  return edges.executions![0]!.edges.transaction!.id;
}
const missing = { code: RULE_VIOLATION.wrongCrossing };
const step = (table: 'crossing' | 'transaction', id: number, status: string) =>
  `update ${table} set status = '${status}' where ${table === 'crossing' ? 'transaction_id' : 'id'} = ${id}`;

describe('the database of the payer', () => {
  it('refuses a pending payment to another workspace without its crossing', async () => {
    const id = await payment();
    const copied = `insert into transaction (workspace_id, id, status, hash)
      select workspace_id, 900, 'pending', hash from transaction where id = ${id}`;
    const leg = (transfer: number, kind: string, direction: string) =>
      `insert into transfer (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type)
       select workspace_id, ${transfer}, 900, id, currency_id, '${direction}', 5, 'internal' from account
       where kind = '${kind}' and currency_id = ${from.edges.currency!.id}`;
    // One statement has both legs, because each statement is balanced.
    const legs = `${leg(900, 'interworkspace', 'credit')} union all ${leg(901, 'settlement', 'debit').replace(/^.*\n *select/, 'select')}`;

    await expect(writeTo('payers', copied, legs)).rejects.toMatchObject(missing);
    const crossing = (amount: number) =>
      `insert into crossing (workspace_id, transaction_id, account_code, currency_id, amount)
       values (${at.scope.workspaceId}, 900, 'BA1', ${from.edges.currency!.id}, ${amount})`;
    await expect(writeTo('payers', copied, legs, crossing(6))).rejects.toMatchObject(missing);
    await expect(writeTo('payers', crossing(5))).rejects.toMatchObject(missing);
    await expect(
      writeTo('payers', copied.replace(`'pending'`, `'completed'`), legs, crossing(5)),
    ).rejects.toMatchObject(missing);
    await expect(writeTo('payers', copied, legs, crossing(5))).resolves.toBeDefined();
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
