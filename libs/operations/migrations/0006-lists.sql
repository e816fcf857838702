-- Lists: what they are walked by, and the key their cursors are sealed with.

-- Customers see the transfers that carry a version; ours lie between them and are not theirs to walk over.
drop index transfer_by_time;
create index customer_transfer_by_time on transfer (workspace_id, created_at desc, id desc) where account_version is not null;
create index account_transfer_by_time on transfer (workspace_id, account_id, created_at desc, id desc) where account_version is not null;
create index recipient_transfer_by_time on transfer (workspace_id, recipient_id, created_at desc, id desc)
  where account_version is not null and recipient_id is not null;

-- Drawn once for a deployment, so that a cursor of one process is good in every other.
create table seal (
  name text primary key,
  key bytea not null check (length(key) = 32)
);
insert into seal (name, key) values ('cursor', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
grant select on seal to banking_app;
