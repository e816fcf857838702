-- Expired idempotency records are deleted by the worker: the oldest of all workspaces are the head of one index.

drop index idempotency_by_age;
create index idempotency_by_age on idempotency (created_at);

-- The head of the index is where records are deleted, so dead entries there are vacuumed after few deletions.
alter table idempotency set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
