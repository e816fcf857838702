import { bind, type Database, sqlStatement } from '@banking/postgres';

/** A pending entry of a bank that is only in the demo data: no file of it follows, so that it stays pending. */
const STATE_ENTRY = sqlStatement(
  'state_demo_entry',
  `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, value_on, creditor_reference, remittance, party)
   values ('demo-bank', 'DE89370400440532013000', 'demo', 'credit', 125000, 'EUR', 'pending', current_date, null,
     'Invoice 4711 ' || $1::text,
     '{"name": "Meier Maschinen GmbH", "account": "DE02120300000000202051", "bank": "BYLADEM1001"}')
   on conflict do nothing`,
);

const ANNOUNCE = sqlStatement(
  'announce_demo_deposit',
  `select announce_deposits(array_agg(e.id), array_agg(o.workspace_id), array_agg(o.account_id))
   from bank_entry e cross join account_code o where e.rail = 'demo-bank' and o.code = $1`,
);

/** A deposit that the bank has announced, for the account with a code. Repeatable. */
export async function announceDemoDeposit(database: Database, workspaceId: number, code: string): Promise<void> {
  await database.pipeline({ workspaces: [workspaceId] }, [bind(STATE_ENTRY, code), bind(ANNOUNCE, code)]);
}
