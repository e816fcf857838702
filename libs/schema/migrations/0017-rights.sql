-- Who may read and write what: row-level security, tables that only grow, and the rights of each role. What is not granted is refused.

do $$
declare
  -- The setting lists the workspaces that a database transaction acts for; unset or empty means none. It is read by a subquery, once for
  -- a statement and never by the planner: a plan made for the workspace of the moment, which may have no rows, serves all workspaces. With
  -- `coalesce` the planner does not count the workspace twice, as the statement and the policy state it: where one workspace of thousands
  -- is large, it would expect one row of each, and read all of the large one. No index takes the policy, so each statement states the
  -- workspace itself.
  in_scope text := $sql$coalesce(workspace_id = any((select nullif(current_setting('app.workspaces', true), '')::bigint[])::bigint[]), false)$sql$;
  is_expired text := $sql$created_at <= statement_timestamp() - idempotency_retention()$sql$;
  -- A row has the time of its database transaction or of its statement, also where the clock of the server steps back between the two. What
  -- was decided on remembered accounts was decided up to a second before.
  not_before text := $sql$created_at >= least(now(), statement_timestamp()) - interval '1 second'$sql$;
  relation text;
begin
  -- Every table with a workspace, but those that the roles read over all workspaces: they hold only ids, times and states.
  for relation in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id'
    where c.relnamespace = 'banking'::regnamespace and c.relkind = 'r'
      and c.relname not in ('work', 'webhook_due', 'workspace_place', 'cell_workspace', 'workspace_move')
    union all select 'directory_change'
  loop
    execute format('alter table %I enable row level security', relation);
    -- Functions of the owner read the trail of the directory, which has no workspace.
    if relation <> 'directory_change' then
      execute format('alter table %I force row level security', relation);
    end if;
    if relation in ('account_code', 'account_place') then
      -- Which workspace a code leads to is the one thing that a workspace may find out about another.
      execute format('create policy readable on %I for select using (true)', relation);
      execute format('create policy workspaces on %I for insert with check (%s)', relation, in_scope);
      -- The cell that a workspace leaves has its codes no more.
      if relation = 'account_code' then
        execute format('create policy left_cell on account_code for delete to banking_owner using (%s)', in_scope);
      end if;
    elsif relation = 'workspace_role' then
      -- A user sees its own roles, from which its scope is made.
      execute format($sql$create policy workspaces on workspace_role
        using (%1$s or user_id = (select nullif(current_setting('app.user', true), '')::bigint)) with check (%1$s)$sql$, in_scope);
    elsif relation = 'idempotency' then
      execute format('create policy readable on idempotency for select using (%s)', in_scope);
      execute format('create policy kept on idempotency for insert with check (%s)', in_scope);
      execute format('create policy renewed_when_expired on idempotency for update using (%1$s
        and %2$s) with check (%1$s)', in_scope, is_expired);
      execute format('create policy expired on idempotency to banking_owner using (%s) with check (false)', is_expired);
    elsif relation = 'directory_change' then
      execute format($sql$create policy readable on directory_change for select using (relation not in ('workspace_role', 'member') or %s)$sql$,
        replace(in_scope, 'workspace_id', $sql$(record ->> 'workspace_id')::bigint$sql$));
    else
      execute format('create policy workspaces on %I using (%s) with check (%2$s)', relation, in_scope);
    end if;
  end loop;

  -- Only write_books knows how far its accounts are ahead of the clock.
  foreach relation in array array['transaction', 'payout'] loop
    execute format('create policy written_now on %I as restrictive for insert with check (%s
      and updated_at = created_at)', relation, not_before);
  end loop;
  execute format('create policy written_now on transfer as restrictive for insert with check (%s)', not_before);
  execute format('create policy written_now on customer_order as restrictive for insert with check (%s
    and created_at <= greatest(now(), statement_timestamp()) and updated_at = created_at)', not_before);

  -- Functions with the rights of the owner find what is due in any workspace.
  foreach relation in array array['approval', 'deposit', 'discrepancy', 'event', 'webhook_delivery', 'webhook_endpoint'] loop
    execute format('create policy found_by_worker on %I for select to banking_owner using (true)', relation);
  end loop;
end $$;
-- A key is found by its id, before its workspace is known.
create policy found_by_key on service_account for select to banking_owner using (true);
create policy found_by_key on service_account_key for select to banking_owner using (true);
-- A function with the rights of the owner counts the payouts that wait for a decision.
create policy held_found on payout for select to banking_owner using (needs_decision and status = 'due');
create policy found_by_recorder on audit_outbox for select to banking_owner using (true);
-- Who accepts an invitation has no scope yet.
create policy found_by_invitee on member for select to banking_owner using (true);
-- A function with the rights of the owner compares the roles of all workspaces with their copies, which are written as the owner reads them.
create policy compared on workspace_role for select to banking_owner using (true);
create policy of_app on workspace_role for select using (
  workspace_id in (select w.id from workspace w where w.app_id = (select nullif(current_setting('app.app', true), '')::bigint)));

-- Tables whose rows stay, for every role. Which steps a status takes is stated beside each table.
do $$
declare
  relation text;
  refused text;
  columns text;
begin
  for relation, refused in values
    ('account', 'delete'), ('approval', 'delete'), ('approval_decision', 'delete'), ('approval_rules', 'update or delete'),
    ('audit_head', 'delete'), ('corridor', 'delete'), ('crossing', 'delete'), ('currency', 'delete'),
    ('customer_order', 'delete'), ('deposit', 'delete'), ('limit_change', 'update or delete'), ('limit_list', 'delete'),
    ('discrepancy', 'delete'), ('event_deletion', 'delete'), ('execution', 'delete'), ('operator_request', 'delete'), ('payout', 'delete'),
    ('decision_demand', 'delete'), ('payout_stop', 'delete'), ('product', 'delete'), ('recipient', 'delete'), ('reference_change', 'delete'),
    ('sandbox_clock', 'delete'), ('service_account', 'delete'), ('service_account_key', 'delete'), ('transaction', 'delete'),
    ('bank_entry', 'delete'), ('bank_file', 'delete'), ('bank_statement', 'delete'), ('file_payment', 'delete'),
    ('payment_file', 'delete'),
    ('account_change', 'update or delete'), ('arrival', 'update or delete'), ('cell_identity', 'update or delete'),
    ('deployment_mode', 'update or delete'), ('directory_change', 'delete'),
    ('operator_posting', 'update or delete'), ('order_change', 'update or delete'), ('payout_decision', 'update or delete'), ('quote_use', 'update or delete'), ('remittance_event', 'delete'),
    ('transfer', 'delete'), ('audit_event', 'update'), ('audit_outbox', 'update'), ('change_outbox', 'update'),
    ('event', 'update'), ('quote', 'update')
  loop
    execute format('create trigger append_only before %s on %I for each row execute function refuse_change()', refused, relation);
    execute format('create trigger append_only_truncate before truncate on %I for each statement
      execute function refuse_change()', relation);
  end loop;
  -- What never changes of the others.
  for relation, columns in values
    ('account', 'workspace_id, id, currency_id'),
    ('approval', 'workspace_id, id, operation, operations, digest, requirements, maker, makers, order_id, created_at,
      expires_at'),
    -- Where a corridor leads and what a product holds: recipients and accounts refer to them.
    ('corridor', 'id, destination_country, destination_currency_id, payout_method, beneficiary_account_type, routing_code_type'),
    ('product', 'id, currency_id'),
    ('reference_change', 'id, origin, content, effective_at, recorded_at, recorded_by, operating_system_user'),
    ('crossing', 'workspace_id, transaction_id, key_nonce, account_code, currency_id, amount, created_at'),
    -- The decimals say what every amount in a currency means.
    ('currency', 'id, decimals'),
    ('customer_order', 'workspace_id, id, account_id, recipient_id, approval_id, approval_digest, texts_digest'),
    ('discrepancy', 'workspace_id, id, transaction_id, kind, event_id, opened_at'),
    ('operator_request', 'id, content, digest, requested_by, operating_system_user, requested_at, expires_at'),
    ('payout', 'workspace_id, transaction_id, key_nonce, rail, terms_change_id, needs_decision, created_at'),
    ('bank_entry', 'id, rail, bank_account, identity, direction, amount, currency, is_reversal, file_id'),
    ('deposit', 'workspace_id, id, account_id, currency_id, amount, entry_id, created_at'),
    ('file_payment', 'rail, key, id, end_to_end_id, amount, currency, accepted_at, is_in_books'),
    ('payment_file', 'id, rail, message_id, created_at'),
    ('limit_list', 'workspace_id'),
    ('payment_limit', 'workspace_id, id, scope, account_id, role, user_id, metric, per, currency_id'),
    ('payout_stop', 'id, stopped_at, finding_count, workspace_ids, findings'),
    ('decision_demand', 'id, demanded_at'),
    -- Personal data become pseudonyms; see 0016-personal-data.sql.
    ('approval_decision', 'workspace_id, approval_id, user_id, decision, roles, created_at'),
    ('beneficiary', 'workspace_id, id, recipient_id, created_at'),
    ('directory_change', 'id, changed_at, changed_by, relation, action, record, operating_system_user, hash'),
    ('recipient', 'workspace_id, id, kind, currency_id, bank_id, created_at, corridor_id, person_digest'),
    ('remittance_event', 'workspace_id, id, transaction_id, provider_event, status, reason_code, is_return, created_at, last_updated_at'),
    ('transfer', 'workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type, purpose, fee_amount, recipient_id,
      account_version, balance_after, created_at, recipient_digest, own_legs, description_digest'),
    ('service_account', 'workspace_id, id, created_by, created_at'),
    ('service_account_key', 'workspace_id, id, service_account_id, hash, networks, created_by, created_at'),
    ('transaction', 'workspace_id, id, hash, return_of, created_at, order_digest, conversion_digest, quote_id, source_currency_id,
      source_amount, target_currency_id, target_amount, rate, rate_source, rate_as_of, rounding, remainder_numerator,
      remainder_denominator, fixed_side')
  loop
    execute format('create trigger fixed_columns before update of %s on %I for each row
      when ((%s) is distinct from (%s)) execute function refuse_change()',
      columns, relation, regexp_replace(columns, '(\w+)', 'old.\1', 'g'), regexp_replace(columns, '(\w+)', 'new.\1', 'g'));
  end loop;
  foreach relation in array array['app', 'app_user', 'user_identity', 'app_membership', 'workspace', 'workspace_role', 'member',
                                  'cell', 'workspace_place', 'account_place'] loop
    execute format('create trigger written_at_home before insert or update or delete on %I for each statement
      execute function require_home()',
      relation);
  end loop;
  foreach relation in array array['sandbox_clock', 'sandbox_rail_payment', 'sandbox_rail_event', 'sandbox_rail_listed', 'sandbox_rail_request',
                                  'demo_step'] loop
    execute format('create trigger sandbox_only before insert or update on %I for each statement
      execute function require_sandbox()', relation);
  end loop;
end $$;

-- Every id is above zero, where readers of a table begin, and exact in JSON.
do $$
declare
  relation regclass;
begin
  for relation in
    select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'id' and a.atttypid = 'bigint'::regtype
    where c.relnamespace = 'banking'::regnamespace and c.relkind = 'r'
  loop
    execute format('alter table %s add check (id between 1 and 9007199254740991)', relation);
  end loop;
end $$;

-- Free text, when it is written and when it changes.
do $$
declare
  relation text;
  fields text[];
  field text;
begin
  for relation, fields in values
    ('app', array['name']), ('workspace', array['name']), ('account', array['alias']), ('recipient', array['name', 'alias',
      'account_code']),
    ('service_account', array['name']), ('beneficiary', array['data'])
  loop
    execute format('create trigger free_text before insert on %I for each row when (%s)
      execute function refuse_forbidden_character()', relation,
      (select string_agg(format('has_forbidden_character(new.%I)', f), ' or ') from unnest(fields) f));
  end loop;
  for relation, field in values ('app', 'name'), ('workspace', 'name'), ('account', 'alias'), ('recipient', 'alias'),
    ('service_account', 'name')
  loop
    execute format('create trigger free_text_changed before update of %1$I on %2$I for each row
      when (new.%1$I is distinct from old.%1$I and has_forbidden_character(new.%1$I)) execute function refuse_forbidden_character()',
      field, relation);
  end loop;
  create trigger free_text before update of note on discrepancy for each row
    when (has_forbidden_character(new.note)) execute function refuse_forbidden_character();
  create trigger free_text_verified before update of verified_name on recipient for each row
    when (has_forbidden_character(new.verified_name)) execute function refuse_forbidden_character();
  create trigger free_text before insert on payout_decision for each row
    when (has_forbidden_character(new.reason)) execute function refuse_forbidden_character();
end $$;

-- The roles of the service, from the one with the fewest rights to the one with the most: what a role may, those behind it may too, but the
-- tables of the verification are its own. The provisioning role has the directory and no money.
do $$
declare
  -- Which roles have the rights: all that serve; those that write; those that carry out work; commands of operators; the verification.
  served text := 'banking_api, banking_worker, banking_verifier, banking_operator';
  written text := 'banking_api, banking_worker, banking_operator';
  worked text := 'banking_worker, banking_operator';
  commanded text := 'banking_operator';
  verified text := 'banking_verifier, banking_operator';
  -- Outside a sandbox, commands place no orders, and post nothing that is not approved.
  demonstrated text := (select case when is_sandbox then ', banking_operator' else '' end from deployment_mode);
  roles text;
  rights text;
begin
  for roles, rights in values
    (served, 'select on account, account_change, account_code, account_place, active_role, app, app_membership, app_user, approval, approval_decision, approval_rules, arrival, audit_event, audit_head,
      bank, bank_reconciliation, beneficiary, cell, cell_identity, cell_workspace, conversion, corridor, crossing, currency, customer_order, demo_step,
      deployment_mode, deposit, discrepancy, event, event_deletion, event_sequence, execution, idempotency, leg, member, order_change, payout, payout_decision, product, purpose, quote,
      quote_use, recipient, reference_change, reference_snapshot, reference_version, remittance_event, sandbox_clock, sandbox_rail_event,
      sandbox_rail_listed, sandbox_rail_payment, sandbox_rail_request, schema_migration, seal, service_account, transaction, transfer, user_identity, webhook_delivery, work, workspace,
      workspace_place, workspace_role'),
    (served, 'select on counted_payment, limit_change, limit_list, limit_use, limited_payment, payment_limit'),
    (served, 'execute on function are_limits_raised, counted_amount, limit_json, limit_period, limited_types, limits_of, used_of_limits'),
    (served, 'select (workspace_id, entries) on audit_outbox'),
    (served, 'select (id, created_at) on change_outbox'),
    (served, 'select (id, changed_at, relation, action, record) on directory_change'),
    (served, 'select (id, stopped_at, finding_count, workspace_ids, resumed_at) on payout_stop'),
    (served, 'select (workspace_id, id, service_account_id, networks, expires_at, revoked_at, revoked_reason, last_used_at, created_by, created_at)
      on service_account_key'),
    (served, 'select (workspace_id, id, url, types, description, status, disabled_reason, previous_valid_until, cursor_event_id,
      consecutive_failures, failing_since, lease_until, lease_token, created_by, created_at, deleted_at, answered_url, requested_on,
      requested_deliveries, paused_until) on webhook_endpoint'),
    (served, 'execute on function amount_in, analyze_next_table, applying_rules, approval_requirements, approval_rules_in_force, are_audit_entries, audit_content, beneficiary_of, count_unrecorded_audit, directory_chain,
      deciders, deciding_roles, directory_head, email_of_request, entries_of_deposits, has_approvals, erased_beneficiary, erased_email, erased_request, execution_of_payment, has_forbidden_character(text), has_forbidden_character(json), has_forbidden_character(jsonb), has_role, idempotency_retention, is_approvable, is_payment_approved, held_payouts, is_served_here, makers_of, may_take_over, member_status, next_audit_hash,
      order_of_reference, pause_required, payment_versions, persons_behind, recipient_of_request, rejected_three_in_a_row, require_open_workspaces, rfc3339, salted_digest, take_approval, unrecorded_resources, webhook_backlog, workspace_lock_key'),

    -- The books: a payment, and no other way to move money.
    (written, 'usage on sequence account_id_seq, approval_id_seq, audit_outbox_id_seq, beneficiary_id_seq, customer_order_id_seq, execution_id_seq,
      quote_id_seq, recipient_id_seq, service_account_key_id_seq, transaction_id_seq, transfer_id_seq, webhook_delivery_id_seq,
      webhook_endpoint_id_seq'),
    (written, 'execute on function add_service_account, accept_invitation, bind_subject, change_service_account, delete_service_account,
      delete_service_user, find_key, change_member, hold_accounts, hold_limits, hold_work, invite_member, lock_limits, lock_role,
      lock_service_account, may_invite, note_key_use, note_payments, put_service_user, queue_removed_placer, replace_limits, rotate_webhook_secret, store_answers, wake_webhook_endpoints'),
    ('banking_api, banking_worker' || demonstrated, 'execute on function place_orders, post_payments'),
    (written, 'insert (workspace_id, id, kind, currency_id, product_id, name, alias, type, code, status), update (alias, status, updated_at)
      on account'),
    (written, 'insert on account_code, beneficiary, demo_step, quote'),
    (written, 'insert (workspace_id, version, rules, changed_by) on approval_rules'),
    (written, 'insert (workspace_id, id, operation, operations, request, request_salt, digest, requirements, maker, order_id),
      update (status, version, updated_at, carried_out_in, outcome, outcome_reason, outcome_message, resource_type, resource_id, outcome_at) on
      approval'),
    (written, 'insert (workspace_id, approval_id, user_id, decision, comment) on approval_decision'),
    (written, 'insert (code, workspace_id) on account_place'),
    (written, 'insert (workspace_id, entries) on audit_outbox'),
    (written, 'update (status, updated_at, placed_by, paused_at, pause_reason, resumed_at) on customer_order'),
    (written, 'update (status, transaction_id, executed_at, failure_code, failure_message) on execution'),
    (written, 'insert, update (alias, saved, forgotten_at, updated_at, verification_asked_at, verification, verified_name, verified_at) on recipient'),
    (written, 'insert (version, facts), delete on reference_snapshot'),
    (written, 'insert (workspace_id, now, moved_by), update (now, moved_by, moved_at) on sandbox_clock'),
    (written, 'insert (workspace_id, id, service_account_id, hash, networks, expires_at, created_by), update (expires_at, revoked_at,
      revoked_reason) on service_account_key'),
    (written, 'insert (workspace_id, id, endpoint_id, event_id, event_type, kind, next_attempt_at), update (status, next_attempt_at)
      on webhook_delivery'),
    (written, 'insert (workspace_id, id, url, types, description, sealed_secret, cursor_event_id, created_by), update (url, types,
      description, status, disabled_reason, sealed_secret, previous_sealed_secret, previous_valid_until, consecutive_failures,
      failing_since, created_by, deleted_at, answered_url, requested_on, requested_deliveries, paused_until) on webhook_endpoint'),
    (written, 'update (due_at, leased_until, fence, tries, parked_at, reason, delays), delete on work'),

    -- What networks and other databases say of payments, and the money that comes back.
    (worked, 'execute on function approvals_due, apply_reference_changes, claim_webhook_endpoints, delete_audit_events, delete_counted_payments, delete_expired_keys, delete_old_deliveries,
      delete_old_events, lock_payouts, post_returns, post_sandbox_deposits, record_audit, record_changes, record_webhook_attempts,
      reseal_webhook_secret, settle_payments, webhook_endpoints_due, webhook_secrets_of_keys, workspaces_to_audit, workspaces_with_old_deliveries'),
    ('banking_worker' || demonstrated, 'execute on function post_arrivals'),
    (worked, 'update (status, tries, reason, parked_at, accepted_at, ask_first, updated_at) on payout'),
    -- A process with a hook demands decisions; a worker writes those of the hook, and a command those of operators.
    (written, 'usage on sequence decision_demand_id_seq'),
    (written, 'select (id, ended_at), insert (demanded_at) on decision_demand'),
    (worked, 'insert (workspace_id, transaction_id, decision, reason) on payout_decision'),
    (commanded, 'insert (decided_by) on payout_decision'),
    (worked, 'usage on sequence rail_event_id_seq'),
    -- They have no workspace, and name payments of all.
    (worked, 'select, insert (rail), update (position, leased_until, fence) on rail_cursor'),
    (worked, 'select, insert (rail, position, key, provider_event, status, reason_code, message, amount, currency, is_return),
      update (handed_until), delete on rail_event'),
    (worked, 'execute on function contradicted_payouts'),
    (worked, 'usage on sequence bank_entry_id_seq, bank_file_id_seq, bank_statement_id_seq, file_payment_id_seq, payment_file_id_seq'),
    (worked, 'select, insert, update (leased_until, prepared_at, prepared_as, written_at) on payment_file'),
    (worked, 'select, insert, update (file_id, payment_information_id) on file_payment'),
    (worked, 'select, insert, update (note) on bank_file'),
    (worked, 'select, insert, update (entry_count, entry_sum) on bank_statement'),
    (worked, 'insert (rail, bank_account, currency, suspense_account, difference_count, refused_count, result), delete,
      update (rail, suspense_account, compared_at, difference_count, refused_count, result) on bank_reconciliation'),
    (worked, 'select, insert, update (status, booked_on, value_on, statement_id, end_to_end_id, uetr, bank_reference, batch_reference,
      creditor_reference, remittance, party, return_reason, outcome, payout_key) on bank_entry'),
    (worked, 'insert (key, position, provider_event, status, reason_code, due_at), update (handed_until, acknowledged)
      on sandbox_rail_event'),
    (worked, 'insert (key, amount, currency), update (submissions) on sandbox_rail_payment'),
    (worked, 'usage on sequence sandbox_rail_listed_id_seq'),
    (worked, 'insert (key, provider_event, status, reason_code) on sandbox_rail_listed'),
    (worked, 'insert on sandbox_rail_request'),

    -- Deposits: money that a bank has stated, and no other.
    (worked, 'execute on function deposits_of_entries, hold_credit_entries, is_certain_credit, is_returned_credit, may_be_one_credit, precedes_credit, reference_of_entry, reverses_entry'),
    ('banking_worker' || demonstrated, 'execute on function announce_deposits, post_bank_deposits, reverse_bank_deposits'),

    -- What moves money or stops it has a guard of its own.
    (commanded, 'usage on sequence operator_request_id_seq'),
    (commanded, 'select, insert (content, digest, operating_system_user) on operator_request'),
    -- Erasure and export of personal data: operators by request, the worker what was not used for long. No service may call them.
    (commanded, 'execute on function addresses_of_user, count_webhook_secrets, erase_personal_data, invitation_to, personal_data_of, requests_naming'),
    (worked, 'execute on function erase_unused_personal_data, find_unused_personal_data'),

    (commanded, 'update (note) on bank_entry'),
    (commanded, 'update (resolved_at, resolution, note, resolution_transaction_id) on discrepancy'),
    (commanded, 'execute on function assign_deposit, audit_operator, operator_name, operator_requester, post_deposits, return_deposit,
      record_reference_change, withdraw_operator_request, withdraw_reference_changes'),

    (verified, 'select (personal) on directory_change'),
    (verified, 'execute on function directory_digests'),
    (verified, 'usage on sequence payout_stop_id_seq'),
    (verified, 'insert (finding_count, workspace_ids, findings) on payout_stop'),
    (verified, 'select on operator_posting, workspace_move'),
    (verified, 'select, delete on unverified_posting'),
    (verified, 'select, update (last_workspace_id, last_id) on verification_position')
  loop
    execute format('grant %s to %s', rights, roles);
  end loop;
end $$;

grant usage on sequence app_id_seq, app_user_id_seq, workspace_id_seq, workspace_role_id_seq to banking_provisioning;
grant select on cell, cell_identity, workspace_move to banking_provisioning;
grant select, insert (id, name), update (name, updated_at), delete on app to banking_provisioning;
grant select, insert (app_id, user_id) on app_membership to banking_provisioning;
grant select, insert (id, email, status, user_type), update (email, is_email_verified, status, updated_at), delete on app_user to
  banking_provisioning;
grant select, insert (workspace_id), delete on cell_workspace to banking_provisioning;
grant select, update (resumed_at) on payout_stop to banking_provisioning;
grant select, update (ended_at, note) on decision_demand to banking_provisioning;
grant select, insert (issuer, subject, user_id) on user_identity to banking_provisioning;
grant select, insert (id, app_id, name, type, time_zone), update (name, time_zone, updated_at), delete on workspace to banking_provisioning;
grant select, insert (workspace_id, cell_number), delete on workspace_place to banking_provisioning;
grant usage on sequence member_id_seq to banking_provisioning;
grant select, insert (workspace_id, user_id) on member to banking_provisioning;
grant select, insert (workspace_id, id, user_id, role), update (role, updated_at), delete on workspace_role to
  banking_provisioning;
grant execute on function erased_email, has_forbidden_character(text), has_forbidden_character(json), has_forbidden_character(jsonb), rfc3339 to banking_provisioning;
