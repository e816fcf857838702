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
  end_approved_order: (table) => [
    `create table ${table} (workspace_id bigint, order_id bigint, status text, transaction_id bigint, failure_code text, failure_message text)`,
    `create trigger attack after update on ${table} for each row ${ATTACHED}.end_approved_order()`,
    `insert into ${table} values (1, 1, 'scheduled')`,
    `update ${table} set status = 'completed', transaction_id = 1`,
  ],
  follow_approval: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, status text, order_id bigint, outcome text)`,
    `create trigger attack after update on ${table} for each row ${ATTACHED}.follow_approval()`,
    `insert into ${table} values (1, 1, 'required', 1)`,
    `update ${table} set status = 'approved'`,
  ],
  guard_payments: (table) => [
    `create table ${table} (workspace_ids bigint[], transaction_ids bigint[])`,
    `create trigger attack after insert on ${table} for each row ${ATTACHED}.guard_payments()`,
    `insert into ${table} values ('{1}', '{1}')`,
  ],
  keep_administrator: (table) => [
    `create table ${table} (workspace_id bigint, role text)`,
    `create trigger attack after delete on ${table} for each row ${ATTACHED}.keep_administrator()`,
    `insert into ${table} values (1, 'admin')`,
    `delete from ${table}`,
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
  note_member: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, change jsonb)`,
    `create trigger attack after insert on ${table} for each row ${ATTACHED}.note_member()`,
    `insert into ${table} values (1, 1, '{"event": "member.invited", "operation": "inviteMember"}')`,
  ],
  note_service_account: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, deleted_at timestamptz)`,
    `create trigger attack after insert on ${table} for each row ${ATTACHED}.note_service_account()`,
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
  require_account_of_key: (table) => [
    `create table ${table} (workspace_id bigint, service_account_id bigint)`,
    `create trigger attack before insert on ${table} for each row ${ATTACHED}.require_account_of_key()`,
    `insert into ${table} values (1, 1)`,
  ],
  require_administrator: (table) => [
    `create table ${table} (workspace_id bigint, created_by bigint)`,
    `create trigger attack before insert on ${table} for each row ${ATTACHED}.require_administrator()`,
    `insert into ${table} values (1, 1)`,
  ],
  require_approved_decision: (table) => [
    `create table ${table} (workspace_id bigint, transaction_id bigint, decision text, reason text, operator text)`,
    `create trigger attack before insert on ${table} for each row ${ATTACHED}.require_approved_decision()`,
    `insert into ${table} values (1, 1, 'approve', 'note')`,
  ],
  require_approved_end: (table) => [
    `create table ${table} (id bigint, note text, ended_by text)`,
    `create trigger attack before update on ${table} for each row ${ATTACHED}.require_approved_end()`,
    `insert into ${table} values (1)`,
    `update ${table} set note = 'note'`,
  ],
  require_approved_ignoring: (table) => [
    `create table ${table} (id bigint, note text, ignored_by text)`,
    `create trigger attack before update on ${table} for each row ${ATTACHED}.require_approved_ignoring()`,
    `insert into ${table} values (1)`,
    `update ${table} set note = 'fee'`,
  ],
  require_approved_payout: (table) => [
    `create table ${table} (workspace_id bigint, transaction_id bigint, status text, reason text)`,
    `create trigger attack before update on ${table} for each row ${ATTACHED}.require_approved_payout()`,
    `insert into ${table} values (1, 1, 'due', null)`,
    `update ${table} set status = 'failed'`,
  ],
  require_approved_resolution: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, resolution text, resolved_by text, note text, resolution_transaction_id bigint)`,
    `create trigger attack before update on ${table} for each row ${ATTACHED}.require_approved_resolution()`,
    `insert into ${table} values (1, 1)`,
    `update ${table} set resolution = 'returned'`,
  ],
  require_approved_resumption: (table) => [
    `create table ${table} (id bigint, resumed_by text)`,
    `create trigger attack before update on ${table} for each row ${ATTACHED}.require_approved_resumption()`,
    `insert into ${table} values (1)`,
    `update ${table} set resumed_by = 'mallory'`,
  ],
  require_requested_resumption: (table) => [
    `create table ${table} (workspace_id bigint, id bigint, placed_by bigint)`,
    `create trigger attack before update on ${table} for each row ${ATTACHED}.require_requested_resumption()`,
    `insert into ${table} values (1, 1, 1)`,
    `update ${table} set placed_by = 2`,
  ],
  revoke_keys_without_role: (table) => [
    `create table ${table} (workspace_id bigint, user_id bigint)`,
    `create trigger attack after delete on ${table} for each row ${ATTACHED}.revoke_keys_without_role()`,
    `insert into ${table} values (1, 1)`,
    `delete from ${table}`,
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
  withdraw_invitations: (table) => [
    `create table ${table} (workspace_id bigint, user_id bigint, role text)`,
    `create trigger attack after delete on ${table} for each row ${ATTACHED}.withdraw_invitations()`,
    `insert into ${table} values (1, 1, 'admin')`,
    `delete from ${table}`,
  ],
};
