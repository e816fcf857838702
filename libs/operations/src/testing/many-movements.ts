import type { TestDatabase } from './test-databases.js';

/**
 * Books many credits of 1 on an account of the demo data in one statement, without the chain of
 * hashes: for what is measured by their number alone.
 *
 * @param bookedAt SQL for the time at which the transfers number `n` are booked
 */
export async function bookMany(
  { owner }: Pick<TestDatabase, 'owner'>,
  { accountId, count, bookedAt = 'statement_timestamp()' }: { accountId: number; count: number; bookedAt?: string },
): Promise<void> {
  await owner.query('begin');
  await owner.query(
    `select set_config('app.workspaces', format('{%s}', workspace_id), true) from banking.account where id = $1`,
    [accountId],
  );
  await owner.query(
    `with made as (
       insert into transaction (workspace_id, status, hash)
       select a.workspace_id, 'completed', repeat('0', 64)
       from account a, generate_series(1, $2::int) n where a.id = $1
       returning workspace_id, id),
     numbered as (select *, row_number() over (order by id) as n from made),
     leg as (
       select m.*, a.id as account_id, a.currency_id, a.kind = 'customer' as is_customer, a.version, a.balance
       from numbered m join account a on a.workspace_id = m.workspace_id
       where a.id = $1 or (a.kind = 'settlement' and a.currency_id = (select currency_id from account where id = $1)))
     insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, description,
                           account_version, balance_after, created_at)
     select workspace_id, id, account_id, currency_id, case when is_customer then 'credit' else 'debit' end, 1, 'funding', 'One of many',
            case when is_customer then version + n end, case when is_customer then balance + n end, ${bookedAt}
     from leg order by n`,
    [accountId, count],
  );
  await owner.query('commit');
}
