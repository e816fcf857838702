import { bind, statement, type Database } from '@banking/postgres';

/** The two sides of each transaction, which the books' own walls check as they arrive. */
const BOOK_MANY = statement(
  'book_many',
  `with made as (
     insert into banking.transaction (workspace_id, status, hash, value_date)
     select $1::bigint, 'completed', repeat('0', 64), current_date from generate_series(1, $3::int)
     returning workspace_id, id),
   leg as (
     select m.*, row_number() over (partition by a.id order by m.id) as n, a.id as account_id, a.currency_id, a.kind, a.version, a.balance
     from made m join banking.account a on a.workspace_id = m.workspace_id
     where a.id = $2 or (a.kind = 'settlement' and a.currency_id = (select currency_id from banking.account where id = $2)))
   insert into banking.transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after)
   select workspace_id, id, account_id, currency_id, case kind when 'customer' then 'credit' else 'debit' end, 1, 'funding',
          case kind when 'customer' then version + n end, case kind when 'customer' then balance + n end
   from leg order by n`,
);

/** Books many credits of 1 on a customer's account at once, as no program of ours would: for what is refused by their number alone. */
export async function bookMany(
  owner: Database,
  {
    workspaceId,
    accountId,
    count,
  }: { readonly workspaceId: number; readonly accountId: number; readonly count: number },
): Promise<void> {
  await owner.flight({ workspaces: [workspaceId] }, [bind(BOOK_MANY, workspaceId, accountId, count)]);
}
