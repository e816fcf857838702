-- Personal data: where it is, how it becomes pseudonyms, and what has to be kept. Amounts, ids, times and hashes never change: hashes cover
-- personal texts by salted digests, and a salt is erased with its texts.

/**
 * The columns with personal data of each subject, and what an erasure makes of them: a new column is one more line. Fields of a relation
 * are erased together. The others are found by the last relation of a subject; the invitations to a user also by the e-mails of its trail, which
 * are of a later part.
 *
 * A subject is read and erased in its parts, each a page at a time: the number of its rows has no bound. `rows_of` is a condition on a row
 * `t`. $1 has the workspaces, $2 the id of the subject (of an entry for a payer), $3 the ids of a page of the part, as `page_of_part` reads
 * them. `pseudonym` is an expression on `t`, and depends on ids only. Without a field, the rows are deleted.
 *
 * `until` says how long a statement may write something else: `fixed` never, `erased` until the row is erased, `known` until its outcome is,
 * `free` always.
 */
create function personal_columns()
  returns table (place integer, subject text, part text, relation text, field text, rows_of text, pseudonym text, until text)
  language sql immutable as $$
  select row_number() over ()::integer, c.*
  from (values
    ('recipient', 'orders', 'customer_order', 'description', 't.workspace_id = any($1) and t.id = any($3)', 'null', 'fixed'),
    ('recipient', 'orders', 'customer_order', 'metadata', '', 'null', 'fixed'),
    ('recipient', 'orders', 'customer_order', 'texts_salt', '', 'null', 'fixed'),
    ('recipient', 'payments', 'transfer', 'description', 't.workspace_id = any($1) and t.transaction_id = any($3)', 'null', 'fixed'),
    ('recipient', 'payments', 'transfer', 'description_salt', '', 'null', 'fixed'),
    ('recipient', 'payments', 'remittance_event', 'message',
      't.workspace_id = any($1) and t.transaction_id = any($3) and t.transaction_id is not null', 'null', 'fixed'),
    ('recipient', 'payments', 'payout', 'reason', 't.workspace_id = any($1) and t.transaction_id = any($3)', 'null', 'free'),
    ('recipient', 'payments', 'file_payment', 'content', 't.ctid = any(array(
        select f.place from payout p cross join lateral (
          select i.ctid as place from file_payment i where i.rail = p.rail and i.key = key_of_payout(p) limit 1) f
        where p.workspace_id = any($1) and p.transaction_id = any($3)))', '''{}''::jsonb', 'fixed'),
    ('recipient', 'payments', 'bank_entry', 'party', 't.payout_key = any(array(
        select key_of_payout(p) from payout p where p.workspace_id = any($1) and p.transaction_id = any($3)))', '''{}''::jsonb', 'known'),
    ('recipient', 'payments', 'bank_entry', 'remittance', '', 'null', 'known'),
    ('recipient', 'payments', 'bank_entry', 'creditor_reference', '', 'null', 'known'),
    ('recipient', 'requests', 'approval_decision', 'comment', 't.workspace_id = any($1) and t.approval_id = any($3)', 'null', 'fixed'),
    ('recipient', 'requests', 'approval', 'request', 't.workspace_id = any($1) and t.id = any($3)', 'erased_request(t.request)', 'fixed'),
    ('recipient', 'requests', 'approval', 'request_salt', '', 'null', 'fixed'),
    ('recipient', 'subject', 'beneficiary', 'data', 't.workspace_id = any($1) and t.recipient_id = $2 and t.recipient_id is not null',
      'erased_beneficiary(t.data, t.recipient_id)', 'fixed'),
    ('recipient', 'subject', 'recipient', 'name', 't.workspace_id = any($1) and t.id = $2', '''erased-'' || t.id', 'fixed'),
    ('recipient', 'subject', 'recipient', 'account_code', '', '''erased-'' || t.id', 'fixed'),
    ('recipient', 'subject', 'recipient', 'alias', '', 'null', 'erased'),
    ('recipient', 'subject', 'recipient', 'verified_name', '', 'case when t.verified_name is not null then ''erased-'' || t.id end', 'erased'),
    ('recipient', 'subject', 'recipient', 'person_salt', '', 'null', 'fixed'),
    ('payer', 'payments', 'transfer', 'description', 't.workspace_id = any($1) and t.transaction_id = any($3)', 'null', 'fixed'),
    ('payer', 'payments', 'transfer', 'description_salt', '', 'null', 'fixed'),
    ('payer', 'payments', 'bank_entry', 'party', 't.id = any(array(
        select $2 union select d.reversal_id from deposit d where d.workspace_id = any($1) and d.entry_id = $2))', '''{}''::jsonb', 'known'),
    ('payer', 'payments', 'bank_entry', 'remittance', '', 'null', 'known'),
    ('payer', 'payments', 'bank_entry', 'creditor_reference', '', 'null', 'known'),
    ('payer', 'payments', 'deposit', 'payer', 't.workspace_id = any($1) and t.entry_id = $2', 'jsonb_build_object(''name'', ''erased-'' || t.id)', 'erased'),
    ('payer', 'payments', 'deposit', 'reference', '', 'null', 'erased'),
    ('entry', 'subject', 'bank_entry', 'party', 't.id = $2', '''{}''::jsonb', 'known'),
    ('entry', 'subject', 'bank_entry', 'remittance', '', 'null', 'known'),
    ('entry', 'subject', 'bank_entry', 'creditor_reference', '', 'null', 'known'),
    ('approval', 'subject', 'approval_decision', 'comment', 't.workspace_id = any($1) and t.approval_id = $2', 'null', 'fixed'),
    ('approval', 'subject', 'approval', 'request', 't.workspace_id = any($1) and t.id = $2', 'erased_request(t.request)', 'fixed'),
    ('approval', 'subject', 'approval', 'request_salt', '', 'null', 'fixed'),
    ('invitation', 'subject', 'directory_change', 'personal', 't.relation = ''member''
      and t.personal ->> ''email'' in (select m.email from member m where m.id = $2 and m.email <> erased_invitation(m.id))', 'null', 'fixed'),
    ('invitation', 'subject', 'directory_change', 'personal_salt', '', 'null', 'fixed'),
    ('invitation', 'subject', 'member', 'email', 't.user_id is null and t.email in (select m.email from member m where m.id = $2)',
      'erased_invitation(t.id)', 'free'),
    ('user', 'invitations', 'member', 'email', 't.user_id is null and t.email in (select unnest(addresses_of_user($2)))', 'erased_invitation(t.id)', 'free'),
    ('user', 'invitations', 'directory_change', 'personal', 't.relation = ''member'' and t.personal ->> ''email'' in (select unnest(addresses_of_user($2)))',
      'null', 'fixed'),
    ('user', 'invitations', 'directory_change', 'personal_salt', '', 'null', 'fixed'),
    ('user', 'subject', 'user_identity', null, 't.user_id = $2', null, 'free'),
    ('user', 'subject', 'directory_change', 'personal', 't.relation in (''app_user'', ''user_identity'')
      and coalesce(t.record -> ''user_id'', t.record -> ''id'')::bigint = $2 and t.personal ->> ''email'' is distinct from erased_email($2)', 'null', 'fixed'),
    ('user', 'subject', 'directory_change', 'personal_salt', '', 'null', 'fixed'),
    ('user', 'subject', 'app_user', 'email', 't.id = $2', 'erased_email(t.id)', 'erased'),
    ('user', 'subject', 'app_user', 'status', '', '''suspended''', 'erased')
  ) c (subject, part, relation, field, rows_of, pseudonym, until)
$$;

-- What the books and the networks need of a beneficiary stays: countries, kind and bank.
create function erased_beneficiary(data jsonb, recipient_id bigint) returns jsonb
  language sql immutable parallel safe
  return jsonb_strip_nulls(jsonb_build_object('beneficiaryName', 'erased-' || recipient_id, 'beneficiaryAddress', 'erased-' || recipient_id,
    'beneficiaryAccountNumber', 'erased-' || recipient_id, 'destinationCountry', data -> 'destinationCountry',
    'beneficiaryCountryCode', data -> 'beneficiaryCountryCode', 'beneficiaryAccountType', data -> 'beneficiaryAccountType',
    'routingCodeType1', data -> 'routingCodeType1', 'routingCodeValue1', data -> 'routingCodeValue1'));

-- An address that can receive no mail (RFC 2606).
create function erased_email(user_id bigint) returns text
  language sql immutable parallel safe
  return 'erased-' || user_id || '@erased.invalid';

create function erased_invitation(member_id bigint) returns text
  language sql immutable parallel safe
  return 'erased-invitation-' || member_id || '@erased.invalid';

-- What decides that a payment is approved stays, and what names no person.
create function erased_request(request text) returns text
  language sql immutable parallel safe
  return (
    select (r.content || jsonb_object_agg(p.part, (
      select coalesce(jsonb_object_agg(e.key, e.value), '{}') from jsonb_each(r.content -> p.part) e
      where e.key in ('accountId', 'amount', 'countryCode', 'currencyCode', 'feeAmount', 'id', 'memberId', 'payoutMethod', 'purposeCode',
        'quoteID', 'rate', 'recipientDigest', 'recipientID', 'recipientId', 'roles', 'saved', 'startAt', 'status', 'stopAt', 'targetAmount',
        'targetCurrencyCode', 'type', 'userID'))))::text
    from (select request::jsonb as content) r cross join (values ('input'), ('shown')) p (part)
    group by r.content);

-- The e-mail of a user, and those it had before.
create function addresses_of_user(of_user bigint) returns text[]
  language sql stable set search_path = banking, pg_temp
  return array(
    select u.email from app_user u where u.id = of_user
    union
    select l.personal ->> 'email' from directory_change l
    where l.relation = 'app_user' and (l.record ->> 'id')::bigint = of_user and l.personal ? 'email');

-- The last of the invitations to an address that no user has accepted.
create function invitation_to(address text) returns bigint
  language sql stable security definer set search_path = banking, pg_temp
  return (select m.id from member m where m.user_id is null and m.email = address order by m.id desc limit 1);

-- The requests to invite or change a member that name one of these e-mails, of all workspaces of this database.
create function requests_naming(addresses text[]) returns table (workspace_id bigint, id bigint)
  language sql stable security definer set search_path = banking, pg_temp as $$
  select a.workspace_id, a.id from approval a
  where a.operations = 'members' and email_of_request(a.request) = any(addresses) and is_served_here(a.workspace_id)
  order by a.workspace_id, a.id
$$;

-- The key of a payout at its network, as `payoutKey` of @banking/payouts writes it.
create function key_of_payout(p payout) returns text
  language sql immutable
  return format('payout-%s-%s-%s', p.workspace_id, p.transaction_id, p.key_nonce);

-- These transactions, and those by which their money came back.
create function with_returns(of_workspaces bigint[], ids bigint[]) returns bigint[]
  language sql stable set search_path = banking, pg_temp as $$
  with recursive chained (workspace_id, id) as (
    select x.workspace_id, x.id from transaction x where x.workspace_id = any(of_workspaces) and x.id = any(ids)
    union
    -- `offset 0`: found by what they return, not in a hash of all returns of the workspace.
    select c.workspace_id, r.id from chained c cross join lateral (
      select x.id from transaction x where x.workspace_id = c.workspace_id and x.return_of = c.id offset 0) r)
  select coalesce(array_agg(c.id), '{}') from chained c
$$;

-- Whether a request waits for approvals, or is approved and not carried out yet.
create function is_open_request(a approval) returns boolean
  language sql immutable
  return a.status = 'required' or a.status = 'approved' and a.outcome is null;

-- The least time for which payments are kept, in days, whatever a caller says. A sandbox has no real persons.
create function kept_days_least() returns integer
  language sql stable set search_path = banking, pg_temp
  return case when (select is_sandbox from deployment_mode) then 0 else 365 end;

/**
 * Why the personal data of a subject have to be kept; empty if they need not.
 *
 * @param of_id of a recipient, of the bank entry of a payer, of a bank entry, of an approval, of an invitation or of a user
 * @param kept_days how long payments are kept
 */
create function reasons_to_keep(of_subject text, of_workspaces bigint[], of_id bigint, kept_days integer) returns text[]
  language plpgsql stable set search_path = banking, pg_temp as $$
declare
  since timestamptz := statement_timestamp() - make_interval(days => greatest(kept_days, kept_days_least()));
begin
  if of_subject = 'recipient' then
    return array_remove(array[
      case when exists (
        select from customer_order o
        where o.workspace_id = any(of_workspaces) and o.recipient_id = of_id and o.status = 'active' and o.amount > 0) then 'order_active' end,
      -- Few recipients were paid since the first pending transaction: for the others, the pending ones are not read.
      case when was_paid_since(of_workspaces, of_id, (
        select min(x.created_at) - interval '1 day' from unnest(of_workspaces) w (id) cross join lateral (
          select p.created_at from transaction p where p.workspace_id = w.id and p.status = 'pending' order by p.created_at limit 1) x))
        and exists (
        select from transaction x
        where x.workspace_id = any(of_workspaces) and x.status = 'pending' and exists (
          select from transfer t where t.workspace_id = x.workspace_id and t.transaction_id = x.id and t.recipient_id = of_id offset 0))
        then 'payment_pending' end,
      case when exists (
        select from approval a
        where a.workspace_id = any(of_workspaces) and a.operations = 'recipients'
          and recipient_of_request(a.request, a.resource_type, a.resource_id) = of_id and is_open_request(a)) then 'approval_open' end,
      case when exists (
        select from discrepancy d
        where d.workspace_id = any(of_workspaces) and d.resolved_at is null and exists (
          select from transfer t
          where t.workspace_id = d.workspace_id and t.transaction_id = d.transaction_id and t.recipient_id = of_id offset 0))
        then 'discrepancy_open' end,
      case when was_paid_since(of_workspaces, of_id, since) then 'within_retention' end], null);
  elsif of_subject = 'payer' then
    return array_remove(array[
      case when exists (
        select from deposit d where d.entry_id = of_id and d.status in ('pending', 'unmatched')) then 'deposit_open' end,
      case when exists (select from deposit d where d.entry_id = of_id and d.created_at > since) then 'within_retention' end], null);
  elsif of_subject = 'entry' then
    return array_remove(array[
      case when exists (select from bank_entry e where e.id = of_id and (e.outcome is null or e.outcome = 'deposit')) then 'entry_open' end,
      case when exists (select from bank_entry e where e.id = of_id and e.received_at > since) then 'within_retention' end], null);
  elsif of_subject = 'approval' then
    return array_remove(array[
      case when exists (select from approval a where a.workspace_id = any(of_workspaces) and a.id = of_id and is_open_request(a))
        then 'approval_open' end,
      -- Its texts are erased with those of the payments.
      case when exists (
        select from approval a
        where a.workspace_id = any(of_workspaces) and a.id = of_id
          and recipient_of_request(a.request, a.resource_type, a.resource_id) is not null) then 'has_recipient' end], null);
  elsif of_subject = 'invitation' then
    return array_remove(array[
      case when exists (
        select from member m join member o on o.email = m.email
        where m.id = of_id and o.roles is not null and o.expires_at > statement_timestamp()) then 'invitation_open' end], null);
  elsif of_subject = 'user' then
    return array_remove(array[
      case when exists (select from workspace_role r where r.user_id = of_id) then 'has_roles' end], null);
  end if;
  raise exception 'no subject of personal data: %', of_subject using errcode = '22023';
end $$;

-- For each kind of transfer, the index has the last one of a recipient at the end of a range.
create function was_paid_since(of_workspaces bigint[], of_recipient bigint, since timestamptz) returns boolean
  language sql stable set search_path = banking, pg_temp as $$
  select exists (
    select from unnest(of_workspaces) w (id)
    cross join unnest(array['internal', 'spot', 'payout', 'fee', 'return', 'funding']) k (type)
    cross join unnest(array['debit', 'credit']) s (direction)
    cross join lateral (
      select from transfer t
      where t.workspace_id = w.id and t.recipient_id = of_recipient and t.type = k.type and t.direction = s.direction
        and t.created_at > since and t.balance_after is not null and t.recipient_id is not null
      order by t.created_at desc limit 1) t)
$$;

-- The same for orders, which need not have been paid.
create function was_ordered_since(of_workspaces bigint[], of_recipient bigint, since timestamptz) returns boolean
  language sql stable set search_path = banking, pg_temp as $$
  select exists (
    select from unnest(of_workspaces) w (id)
    cross join unnest(array['active', 'completed', 'cancelled', 'failed']) k (status)
    cross join unnest(array['instant', 'scheduled', 'recurring']) s (type)
    cross join lateral (
      select from customer_order o
      where o.workspace_id = w.id and o.recipient_id = of_recipient and o.status = k.status and o.type = s.type
        and o.created_at > since and o.amount > 0
      order by o.created_at desc limit 1) o)
$$;

create function refuse_erasure() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
begin
  raise exception '% changes to a pseudonym only', tg_table_name using errcode = 'BK032';
end $$;

-- The second path: what has to be kept is kept, whatever function erases. For how long payments are kept is known to the function.
create function require_nothing_to_keep() returns trigger
  language plpgsql set search_path = banking, pg_temp as $$
declare
  reasons text[] := reasons_to_keep(
    case tg_table_name when 'deposit' then 'payer' when 'app_user' then 'user' else tg_table_name end,
    case tg_table_name when 'app_user' then '{}' else array[(to_jsonb(new) ->> 'workspace_id')::bigint] end,
    (to_jsonb(new) ->> case tg_table_name when 'deposit' then 'entry_id' else 'id' end)::bigint, 0);
begin
  if cardinality(reasons) > 0 then
    raise exception 'the personal data of % are kept: %', tg_table_name, array_to_string(reasons, ', ') using errcode = 'BK032';
  end if;
  return new;
end $$;

do $$
declare
  of_relation text;
  fields text;
  refused text;
begin
  for of_relation, fields, refused in
    select c.relation, string_agg(distinct quote_ident(c.field), ', '),
           string_agg(distinct format('old.%1$I is distinct from new.%1$I and new.%1$I is distinct from (%2$s)%3$s', c.field,
             regexp_replace(c.pseudonym, '\mt\.', 'old.', 'g'), case c.until when 'erased' then ' and old.erased_at is not null'
               when 'known' then ' and old.outcome is not null' else '' end), ' or ')
    from personal_columns() c where c.field is not null and c.until <> 'free'
    group by c.relation
  loop
    execute format('create trigger only_to_pseudonym before update of %s on %I for each row when (%s) execute function refuse_erasure()',
      fields, of_relation, refused);
  end loop;
  foreach of_relation in array array['recipient', 'deposit', 'app_user'] loop
    execute format('create trigger erased_for_good before update of erased_at on %I for each row
      when (old.erased_at is not null and new.erased_at is distinct from old.erased_at) execute function refuse_erasure()', of_relation);
    execute format('create trigger nothing_to_keep before update of erased_at on %I for each row
      when (old.erased_at is null and new.erased_at is not null) execute function require_nothing_to_keep()', of_relation);
  end loop;
end $$;

-- The part of a subject that follows; the first one after none, and none after the last.
create function part_after(of_subject text, of_part text) returns text
  language sql immutable set search_path = banking, pg_temp
  return (
    select c.part from personal_columns() c where c.subject = of_subject
    group by c.part having of_part is null or min(c.place) > (
      select max(l.place) from personal_columns() l where l.subject = of_subject and l.part = of_part)
    order by min(c.place) limit 1);

/**
 * The next rows of a recipient after one of them, the oldest first, by the index that lists show them by: the first ones of each class, merged.
 * So an order that ends between two pages, and then has another class, keeps its place.
 *
 * @param first_class the columns of the class, in the order of the index; `predicate` is that of the index
 * @param after_id of the row before, 0 at the beginning
 */
create function page_of_recipient(relation text, first_class text, second_class text, predicate text, of_workspace bigint, of_recipient bigint,
  after_id bigint, rows_max integer) returns bigint[]
  language plpgsql stable set search_path = banking, pg_temp as $$
declare
  at timestamptz := '-infinity';
  ids bigint[];
begin
  if after_id > 0 then
    execute format('select t.created_at from %I t where t.workspace_id = $1 and t.id = $2 and %s', relation, predicate)
      into strict at using of_workspace, after_id;
  end if;
  -- Each step of `class` searches the index for the next one.
  execute format($sql$
    with recursive class as (
      (select t.%2$I as class_1, t.%3$I as class_2 from %1$I t where t.workspace_id = $1 and t.recipient_id = $2 and %4$s
       order by t.%2$I, t.%3$I limit 1)
      union all
      select n.* from class c cross join lateral (
        select t.%2$I, t.%3$I from %1$I t
        where t.workspace_id = $1 and t.recipient_id = $2 and (t.%2$I, t.%3$I) > (c.class_1, c.class_2) and %4$s
        order by t.%2$I, t.%3$I limit 1) n)
    select array(
      select p.id from class c cross join lateral (
        select t.id, t.created_at from %1$I t
        where t.workspace_id = $1 and t.recipient_id = $2 and t.%2$I = c.class_1 and t.%3$I = c.class_2 and (t.created_at, t.id) > ($3, $4) and %4$s
        order by t.created_at, t.id limit $5) p
      order by p.created_at, p.id limit $5)$sql$, relation, first_class, second_class, predicate)
    into ids using of_workspace, of_recipient, at, after_id, rows_max;
  return ids;
end $$;

/**
 * The ids by which the rows of a page of a part are found: of orders, of transactions with their returns, of requests for approvals. None of
 * a part that is the subject itself, or the invitations to its addresses.
 *
 * @param after_id where the page before ended, 0 at the beginning
 * @returns `last_id` where this page ends, null if no other follows
 */
create function page_of_part(of_subject text, of_workspaces bigint[], of_id bigint, of_part text, after_id bigint, rows_max integer,
  out ids bigint[], out last_id bigint)
  language plpgsql stable set search_path = banking, pg_temp as $$
begin
  case
    when of_part in ('subject', 'invitations') then
      ids := '{}';
    when of_subject = 'payer' then
      ids := with_returns(of_workspaces, array(
        select d.transaction_id from deposit d where d.workspace_id = any(of_workspaces) and d.entry_id = of_id));
    when of_part = 'orders' then
      ids := page_of_recipient('customer_order', 'status', 'type', 't.amount > 0', of_workspaces[1], of_id, after_id, rows_max);
      last_id := ids[rows_max];
    when of_part = 'payments' then
      ids := page_of_recipient('transfer', 'type', 'direction',
        't.account_version is not null and t.balance_after is not null and t.recipient_id is not null', of_workspaces[1], of_id, after_id, rows_max);
      last_id := ids[rows_max];
      -- A transaction is on the page of its first transfer. Returns name no recipient.
      ids := with_returns(of_workspaces, array(
        select t.transaction_id from transfer t
        where t.workspace_id = of_workspaces[1] and t.id = any(ids) and t.account_version is not null and not exists (
          select from transfer o
          where o.workspace_id = t.workspace_id and o.transaction_id = t.transaction_id and o.recipient_id = of_id and o.id < t.id offset 0)));
    when of_part = 'requests' then
      ids := array(
        select a.id from approval a
        where a.workspace_id = of_workspaces[1] and a.operations in ('orders', 'recipients')
          and recipient_of_request(a.request, a.resource_type, a.resource_id) = of_id and (a.operations, a.id) > (coalesce((
            select l.operations from approval l where l.workspace_id = of_workspaces[1] and l.id = after_id), ''), after_id)
        order by a.operations, a.id limit rows_max);
      last_id := ids[rows_max];
  end case;
end $$;

/**
 * Erases a page of a part, at most so many rows of each relation. The caller holds the locks and has set the scope.
 *
 * @param of_id of a recipient, of the bank entry of a payer, of a bank entry, of an approval, of an invitation or of a user
 * @param is_dry_run counts all rows of the page and changes nothing
 * @returns how many rows of each relation, and whether nothing of the page is left
 */
create function erase_page(of_subject text, of_workspaces bigint[], of_id bigint, of_part text, ids bigint[], rows_max integer,
  is_dry_run boolean, out erased jsonb, out is_done boolean)
  language plpgsql set search_path = banking, pg_temp as $$
declare
  part record;
  places tid[];
  rows_of_relation text;
  count_found bigint;
begin
  erased := '{}';
  is_done := true;
  for part in
    select c.relation, max(c.rows_of) as rows_of, count(c.field) = 0 as is_deleted,
           string_agg('t.' || quote_ident(c.field), ', ') as fields, string_agg(c.pseudonym, ', ') as pseudonyms,
           string_agg(quote_ident(c.field) || ' = ' || c.pseudonym, ', ') as assignments,
           exists (
             select from pg_attribute a
             where a.attrelid = ('banking.' || quote_ident(c.relation))::regclass and a.attname = 'erased_at') as is_marked,
           max(c.place) = max(max(c.place)) over () as is_last
    from personal_columns() c where c.subject = of_subject and c.part = of_part
    group by c.relation order by min(c.place)
  loop
    -- The others are found by it.
    continue when part.is_last and not is_done;
    rows_of_relation := format('%I t where %s and (%s)', part.relation, part.rows_of,
      case when part.is_deleted then 'true' else format('(%s) is distinct from (%s)', part.fields, part.pseudonyms) end);
    if is_dry_run then
      execute 'select count(*) from ' || rows_of_relation into count_found using of_workspaces, of_id, ids;
    else
      execute format('select array(select t.ctid from %s limit $4 for update)', rows_of_relation)
        into places using of_workspaces, of_id, ids, rows_max;
      count_found := cardinality(places);
      is_done := is_done and count_found < rows_max;
    end if;
    continue when count_found = 0;
    erased := erased || jsonb_build_object(part.relation, count_found);
    continue when is_dry_run;
    if part.is_deleted then
      execute format('delete from %I t where t.ctid = any($1)', part.relation) using places;
    else
      execute format('update %I t set %s%s where t.ctid = any($1)', part.relation, part.assignments,
        case when part.is_marked then ', erased_at = coalesce(t.erased_at, statement_timestamp())' else '' end) using places;
    end if;
  end loop;
end $$;

/**
 * Erases what follows a position: a full page, or several parts that are smaller together. The caller holds the locks and has set the scope.
 *
 * @param part null at the beginning; null after the last one
 * @returns how many rows of each relation were erased
 */
create function erase_from(of_subject text, of_workspaces bigint[], of_id bigint, rows_max integer, is_dry_run boolean,
  inout part text, inout after_id bigint, out erased jsonb)
  language plpgsql set search_path = banking, pg_temp as $$
declare
  was_erased boolean := of_subject = 'recipient' and exists (
    select from recipient r where r.workspace_id = any(of_workspaces) and r.id = of_id and r.erased_at is not null);
  rows_left integer := rows_max;
  page record;
  step record;
begin
  erased := '{}';
  if part is null then
    part := part_after(of_subject, null);
    after_id := 0;
  end if;
  while part is not null and rows_left > 0 loop
    page := page_of_part(of_subject, of_workspaces, of_id, part, after_id, rows_left);
    step := erase_page(of_subject, of_workspaces, of_id, part, page.ids, rows_max, is_dry_run);
    -- Two parts may have rows of one relation.
    erased := (
      select coalesce(jsonb_object_agg(r.relation, r.rows), '{}')
      from (
        select e.key as relation, sum(e.value::bigint) as rows
        from (select * from jsonb_each_text(erased) union all select * from jsonb_each_text(step.erased)) e
        group by e.key) r);
    -- The rest of the page is next.
    exit when not step.is_done;
    rows_left := case when page.last_id is null then rows_left - cardinality(page.ids) else 0 end;
    if page.last_id is null then
      part := part_after(of_subject, part);
    end if;
    after_id := coalesce(page.last_id, 0);
  end loop;
  -- Once; and what came to an erased recipient later, such as a message of a network.
  if erased <> '{}' and not is_dry_run and (part is null or was_erased) then
    perform note_erasure(of_subject, of_workspaces, of_id);
  end if;
end $$;

/**
 * Archives the recipients of which nothing has to be kept, so that they get no further payment: they are erased afterwards, without a lock on
 * what others use. Payments lock their account before they write, and read the recipient behind that lock. Behind all these locks, none of
 * the workspace is in between. They are not taken if all were archived so long ago that no payment can be.
 *
 * `updated_at` stays: to be archived here is no use, so that an erasure that was interrupted goes on in the next pass over unused ones.
 *
 * @returns those that are archived and need not be kept
 */
create function archive_to_erase(of_workspace bigint, ids bigint[], kept_days integer) returns bigint[]
  language plpgsql set search_path = banking, pg_temp as $$
declare
  free bigint[];
begin
  if exists (
    select from recipient r
    where r.workspace_id = of_workspace and r.id = any(ids) and (r.forgotten_at < statement_timestamp() - interval '1 day') is not true) then
    perform from account a where a.workspace_id = of_workspace and a.kind = 'customer' order by a.id for no key update;
  end if;
  free := array(
    select u.id from unnest(ids) u (id) where reasons_to_keep('recipient', array[of_workspace], u.id, kept_days) = '{}' order by u.id);
  update recipient r set forgotten_at = statement_timestamp()
  where r.workspace_id = of_workspace and r.id = any(free) and r.forgotten_at is null;
  return free;
end $$;

-- Holds the deposits of a payer, and sets the scope to their workspaces: an assigned deposit and the one that has its money are of one payer.
create function hold_payer(of_entry bigint) returns bigint[]
  language plpgsql set search_path = banking, pg_temp as $$
declare
  workspaces bigint[] := array(select distinct d.workspace_id from deposit d where d.entry_id = of_entry order by 1);
begin
  if exists (select from unnest(workspaces) w (id) where not hold_workspace(w.id)) then
    raise exception 'a workspace of a deposit of the payer is not open in this cell' using errcode = 'BK017';
  end if;
  perform set_config('app.workspaces', workspaces::text, true);
  perform from deposit d where d.workspace_id = any(workspaces) and d.entry_id = of_entry order by d.workspace_id, d.id for update;
  return workspaces;
end $$;

-- Who erased what kind for which id, in the audit trails of its workspaces. It has no values.
create function note_erasure(of_subject text, of_workspaces bigint[], of_id bigint) returns void
  language plpgsql set search_path = banking, pg_temp as $$
declare
  actor jsonb := case when current_setting('app.actor_type', true) = 'operator' then audit_operator() else '{"type": "system"}' end;
begin
  insert into audit_outbox (workspace_id, entries)
  select s.workspace_id, jsonb_agg(jsonb_build_object('operation', 'erasePersonalData', 'outcome', 'done', 'resourceType', s.type,
    'resourceId', s.id, 'actor', actor) order by s.id)
  from (
    select w.id as workspace_id, 'recipient' as type, of_id as id from unnest(of_workspaces) w (id) where of_subject = 'recipient'
    union all
    select d.workspace_id, 'deposit', d.id from deposit d
    where of_subject = 'payer' and d.workspace_id = any(of_workspaces) and d.entry_id = of_id
    union all
    select a.workspace_id, 'approval', a.id from approval a
    where of_subject = 'approval' and a.workspace_id = any(of_workspaces) and a.id = of_id) s
  group by s.workspace_id order by s.workspace_id;
end $$;

/**
 * Erases the personal data of a recipient, of the payer of a deposit, of a request for approvals, of invitations to one address or of a
 * user: for operators. A recipient is archived first. Call it from the position that it returns until that is the end: a call reads one page.
 *
 * @param of_id of the recipient, the deposit, the approval, one of the invitations or the user
 * @param kept_days how long payments are kept, at least a year outside a sandbox
 * @param part null at the beginning; null at the end
 * @returns why it erases nothing; how many rows of each relation it erased. Both are null without such a subject
 */
create function erase_personal_data(of_subject text, of_workspace bigint, of_id bigint, kept_days integer, rows_max integer,
  is_dry_run boolean, inout part text, inout after_id bigint, out reasons text[], out erased jsonb)
  language plpgsql security definer set search_path = banking, pg_temp
  -- In the order of the keys: a plan from the time when a table was small would read all of it.
  set plan_cache_mode = force_custom_plan set enable_sort = off as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  acting_user text := coalesce(current_setting('app.user', true), '');
  workspaces bigint[] := array[of_workspace];
  key_id bigint := of_id;
  step record;
begin
  if (of_subject in ('recipient', 'payer', 'approval', 'invitation', 'user')) is not true or (rows_max between 1 and 10000) is not true or kept_days is null then
    raise exception 'no erasure of personal data' using errcode = 'BK032';
  end if;
  if of_subject = 'recipient' then
    if not exists (select from recipient r where r.workspace_id = of_workspace and r.id = of_id) then
      return;
    end if;
  elsif of_subject = 'payer' then
    select d.entry_id into key_id from deposit d where d.workspace_id = of_workspace and d.id = of_id;
    if key_id is null then
      return;
    end if;
    workspaces := hold_payer(key_id);
  elsif of_subject = 'approval' then
    if not is_dry_run then
      perform from approval a where a.workspace_id = of_workspace and a.id = of_id for update;
    end if;
    if not exists (select from approval a where a.workspace_id = of_workspace and a.id = of_id) then
      return;
    end if;
  elsif of_subject = 'invitation' then
    if not is_dry_run then
      -- An invitation, and a change of one, wait.
      perform pg_advisory_xact_lock(hashtextextended('banking.directory', 0));
    end if;
    workspaces := array(
      select distinct o.workspace_id from member m join member o on o.email = m.email where m.id = of_id order by 1);
    if workspaces = '{}' then
      return;
    end if;
    perform set_config('app.workspaces', workspaces::text, true);
  else
    workspaces := array(
      select distinct m.workspace_id from member m where m.user_id is null and m.email in (select unnest(addresses_of_user(of_id))) order by 1);
    perform set_config('app.workspaces', workspaces::text, true);
    if not is_dry_run then
      -- A role that is granted meanwhile waits: it refers to the user.
      perform from app_user u where u.id = of_id for update;
    end if;
    perform set_config('app.user', of_id::text, true);
    if not exists (select from app_user u where u.id = of_id)
       and not exists (select from directory_change l where l.relation = 'app_user' and (l.record ->> 'id')::bigint = of_id) then
      perform set_config('app.user', acting_user, true);
      return;
    end if;
  end if;
  reasons := reasons_to_keep(of_subject, workspaces, key_id, kept_days);
  if reasons = '{}' and of_subject = 'recipient' and part is null and not is_dry_run then
    -- What is erased in the next calls needs none of these locks.
    if archive_to_erase(of_workspace, array[of_id], kept_days) = '{}' then
      reasons := reasons_to_keep(of_subject, workspaces, key_id, kept_days);
    else
      part := part_after(of_subject, null);
      after_id := 0;
      erased := '{}';
    end if;
  elsif reasons = '{}' then
    step := erase_from(of_subject, workspaces, key_id, rows_max, is_dry_run, part, after_id);
    part := step.part;
    after_id := step.after_id;
    erased := step.erased;
  end if;
  perform set_config('app.workspaces', scope, true);
  perform set_config('app.user', acting_user, true);
end $$;

-- The key of what was not used since then, as `reasons_to_keep` takes it; null of what was, and of what is erased.
create function unused_key(of_subject text, of_workspace bigint, of_id bigint, since timestamptz) returns bigint
  language sql stable set search_path = banking, pg_temp as $$
  select r.id from recipient r
  where of_subject = 'recipient' and r.workspace_id = of_workspace and r.id = of_id and r.erased_at is null
    and greatest(r.created_at, r.updated_at) < since and not was_paid_since(array[of_workspace], of_id, since)
    and not was_ordered_since(array[of_workspace], of_id, since)
  union all
  select d.entry_id from deposit d
  where of_subject = 'payer' and d.workspace_id = of_workspace and d.id = of_id and d.erased_at is null
    and d.status in ('booked', 'assigned', 'returned') and d.updated_at < since
  union all
  select a.id from approval a
  where of_subject = 'approval' and a.workspace_id = of_workspace and a.id = of_id and a.request_salt is not null
    and a.operations in ('recipients', 'members') and a.updated_at < since
  union all
  select e.id from bank_entry e
  where of_subject = 'entry' and e.id = of_id and e.outcome in ('payout', 'return', 'ignored') and e.received_at < since
    and (e.party <> '{}' or num_nonnulls(e.remittance, e.creditor_reference) > 0)
$$;

-- The time since when something is unused that was not used for so many days.
create function unused_since(unused_days integer) returns timestamptz
  language sql stable set search_path = banking, pg_temp
  return statement_timestamp() - make_interval(days => greatest(unused_days, kept_days_least()));

/**
 * Finds what was not used for so long and need not be kept: recipients that are archived or unused, payers of deposits that ended, the texts
 * of other entries of bank accounts, and requests for recipients and members that have ended. It archives the recipients. For the worker.
 *
 * @param of_workspace any for entries of bank accounts, which belong to none
 * @param rows_max how many rows it reads, in the order of their ids from after one
 * @returns the ids of what may be erased, so few that payments do not wait for long; the last id that was read, null at the end
 */
create function find_unused_personal_data(of_subject text, of_workspace bigint, unused_days integer, kept_days integer, rows_max integer,
  after_id bigint, out ids bigint[], out last_id bigint)
  language plpgsql security definer set search_path = banking, pg_temp
  -- In the order of the keys: a plan from the time when a table was small would read all of it.
  set plan_cache_mode = force_custom_plan set enable_sort = off as $$
declare
  found_max constant integer := 25;
  read_ids bigint[];
  key_id bigint;
begin
  if (of_subject in ('recipient', 'payer', 'entry', 'approval')) is not true or (rows_max between 1 and 10000) is not true
     or num_nulls(unused_days, kept_days, after_id) > 0 then
    raise exception 'no erasure of personal data' using errcode = 'BK032';
  end if;
  ids := '{}';
  execute format('select array(select l.id from %I l where %s and l.id > $2 order by l.id limit $3)',
    case of_subject when 'payer' then 'deposit' when 'entry' then 'bank_entry' else of_subject end,
    case of_subject when 'entry' then 'true' else 'l.workspace_id = $1' end)
    into read_ids using of_workspace, after_id, rows_max;
  foreach last_id in array read_ids loop
    key_id := unused_key(of_subject, of_workspace, last_id, unused_since(unused_days));
    continue when key_id is null or reasons_to_keep(of_subject, array[of_workspace], key_id, kept_days) <> '{}';
    ids := ids || last_id;
    exit when cardinality(ids) = found_max;
  end loop;
  if cardinality(read_ids) < rows_max and last_id = read_ids[cardinality(read_ids)] then
    last_id := null;
  end if;
  if of_subject = 'recipient' and ids <> '{}' then
    ids := archive_to_erase(of_workspace, ids, kept_days);
  end if;
end $$;

/**
 * Erases one that `find_unused_personal_data` has found, from a position as `erase_personal_data`. Nothing of what is used or has to be
 * kept. For the worker.
 *
 * @returns how many rows of each relation it erased
 */
create function erase_unused_personal_data(of_subject text, of_workspace bigint, of_id bigint, unused_days integer, kept_days integer,
  rows_max integer, inout part text, inout after_id bigint, out erased jsonb)
  language plpgsql security definer set search_path = banking, pg_temp
  set plan_cache_mode = force_custom_plan set enable_sort = off as $$
declare
  scope text := coalesce(current_setting('app.workspaces', true), '');
  workspaces bigint[] := array[of_workspace];
  key_id bigint;
  step record;
begin
  if (of_subject in ('recipient', 'payer', 'entry', 'approval')) is not true or (rows_max between 1 and 10000) is not true
     or num_nulls(unused_days, kept_days) > 0 then
    raise exception 'no erasure of personal data' using errcode = 'BK032';
  end if;
  key_id := unused_key(of_subject, of_workspace, of_id, unused_since(unused_days));
  if of_subject = 'payer' and key_id is not null then
    workspaces := hold_payer(key_id);
  end if;
  if key_id is null or reasons_to_keep(of_subject, workspaces, key_id, kept_days) <> '{}' or of_subject = 'recipient' and not exists (
    select from recipient r where r.workspace_id = of_workspace and r.id = of_id and r.forgotten_at is not null) then
    part := null;
    erased := '{}';
  else
    step := erase_from(of_subject, workspaces, key_id, rows_max, false, part, after_id);
    part := step.part;
    after_id := step.after_id;
    erased := step.erased;
  end if;
  perform set_config('app.workspaces', scope, true);
end $$;

/**
 * A page of the rows that hold personal data of a subject, from a position as `erase_personal_data`: for the export of what is held about a
 * person. Salts and sealed values are left out.
 *
 * @param of_id of the recipient, the deposit, the approval, one of the invitations or the user
 * @returns `held` objects with table and row
 */
create function personal_data_of(of_subject text, of_workspace bigint, of_id bigint, rows_max integer, inout part text, inout after_id bigint,
  out held jsonb[])
  language plpgsql stable security definer set search_path = banking, pg_temp
  set plan_cache_mode = force_custom_plan set enable_sort = off as $$
declare
  scope bigint[] := coalesce(nullif(current_setting('app.workspaces', true), '')::bigint[], '{}');
  workspaces bigint[] := array[of_workspace];
  key_id bigint := of_id;
  page record;
  of_relation record;
  key text;
  held_of_relation jsonb[];
begin
  if of_subject not in ('user', 'invitation') and (of_workspace = any(scope)) is not true then
    raise exception 'no export of another workspace' using errcode = 'BK032';
  end if;
  if of_subject = 'payer' then
    select d.entry_id into key_id from deposit d where d.workspace_id = of_workspace and d.id = of_id;
  end if;
  held := '{}';
  part := coalesce(part, part_after(of_subject, null));
  page := page_of_part(of_subject, workspaces, key_id, part, coalesce(after_id, 0), rows_max);
  for of_relation in
    select c.relation, max(c.rows_of) as rows_of from personal_columns() c where c.subject = of_subject and c.part = personal_data_of.part
    group by c.relation order by max(c.place) desc
  loop
    select string_agg(format('t.%I', a.attname), ', ' order by array_position(i.indkey, a.attnum)) into key
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indrelid = ('banking.' || quote_ident(of_relation.relation))::regclass and i.indisprimary;
    execute format(
      $sql$select array(select jsonb_build_object('table', %1$L, 'row', jsonb_strip_nulls(to_jsonb(t) - array['person_salt', 'texts_salt',
        'description_salt', 'personal_salt', 'request_salt', 'code_hash', 'own_legs']))
        from %1$I t where %2$s order by %3$s)$sql$, of_relation.relation, of_relation.rows_of, key)
      into held_of_relation using workspaces, key_id, page.ids;
    held := held || held_of_relation;
  end loop;
  if page.last_id is null then
    part := part_after(of_subject, part);
  end if;
  after_id := coalesce(page.last_id, 0);
end $$;
