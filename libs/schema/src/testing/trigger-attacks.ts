const ATTACHED = 'execute function banking';

/** The SQL by which a role could attach a trigger function to its own table. */
export const ATTACKS: Readonly<Record<string, (table: string) => readonly string[]>> = {
  chain_directory_change: (table) => [
    `create table ${table} (id bigint, hash text)`,
    `create trigger attack before insert on ${table} for each row ${ATTACHED}.chain_directory_change()`,
    `insert into ${table} values (1)`,
  ],
  change_reference_version: (table) => [
    `create table ${table} (id bigint)`,
    `create trigger attack after insert on ${table} for each row ${ATTACHED}.change_reference_version()`,
    `insert into ${table} values (1)`,
  ],
  note_account: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, alias text, status text)`,
    `create trigger attack after update on ${table} for each row ${ATTACHED}.note_account()`,
    `insert into ${table} values (1, 1, 'a', 'enabled')`,
    `update ${table} set alias = 'b'`,
  ],
  note_deposit: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, account_id bigint, transaction_id bigint, status text)`,
    `create trigger attack after insert on ${table} for each row ${ATTACHED}.note_deposit()`,
    `insert into ${table} values (1, 1, 1, 1, 'booked')`,
  ],
  note_insertions: (table) => [
    `create table ${table} (workspace_id bigint, id bigint)`,
    `create trigger attack after insert on ${table} referencing new table as fresh for each statement ${ATTACHED}.note_insertions()`,
    `insert into ${table} values (1, 1)`,
  ],
  note_updates: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, status text)`,
    `create trigger attack after update on ${table} referencing old table as former new table as fresh for each statement ${ATTACHED}.note_updates()`,
    `insert into ${table} values (1, 1, 'active')`,
    `update ${table} set status = 'failed'`,
  ],
  note_webhook_endpoint: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, status text)`,
    `create trigger attack after insert on ${table} for each row ${ATTACHED}.note_webhook_endpoint()`,
    `insert into ${table} values (1, 1, 'enabled')`,
  ],
  schedule_webhook_endpoint: (table) => [
    `create table ${table} (workspace_id bigint, id bigint)`,
    `create trigger attack after insert on ${table} for each row ${ATTACHED}.schedule_webhook_endpoint()`,
    `insert into ${table} values (1, 1)`,
  ],
  schedule_webhooks_of_events: (table) => [
    `create table ${table} (workspace_id bigint, id bigint)`,
    `create trigger attack after insert on ${table} referencing new table as fresh for each statement ${ATTACHED}.schedule_webhooks_of_events()`,
    `insert into ${table} values (1, 1)`,
  ],
  trail_account: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, alias text, status text)`,
    `create trigger attack after update on ${table} for each row ${ATTACHED}.trail_account()`,
    `insert into ${table} values (1, 1, 'a', 'enabled')`,
    `update ${table} set alias = 'b'`,
  ],
  trail_directory: (table) => [
    `create table ${table} (id bigint)`,
    `create trigger attack after insert on ${table} for each row ${ATTACHED}.trail_directory()`,
    `insert into ${table} values (1)`,
  ],
  trail_order: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, status text, pause_reason text, placed_by bigint)`,
    `create trigger attack after update on ${table} for each row ${ATTACHED}.trail_order()`,
    `insert into ${table} values (1, 1, 'active', null, 1)`,
    `update ${table} set placed_by = 2`,
  ],
  trail_payout_stop: (table) => [
    `create table ${table} (id bigint, workspace_ids bigint[], resumed_by text)`,
    `create trigger attack after insert on ${table} for each row ${ATTACHED}.trail_payout_stop()`,
    `insert into ${table} values (1, '{1}', 'mallory')`,
  ],
};
