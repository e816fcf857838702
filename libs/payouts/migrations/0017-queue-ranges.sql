-- Polling the queue reads an index range: what is not due, parked, leased or of another kind costs nothing.

-- Failures in a row that pass by themselves, such as an unavailable database. They lengthen the delay and never park.
alter table work add column delays integer not null default 0 check (delays >= 0);
grant update (delays) on work to banking_app;

-- A row can be claimed from `greatest(due_at, leased_until)`: `greatest` ignores a null, so a row without a lease is due at `due_at`.
-- A claim therefore moves its row behind all that is due, and each kind is a range of its own.
drop index work_by_due;
create index work_by_claim on work (kind, (greatest(due_at, leased_until))) where parked_at is null;
create index work_by_parking on work (kind, parked_at, workspace_id, subject_id) where parked_at is not null;

-- The same for the events of the sandbox network, which are handed out until they are acknowledged.
drop index sandbox_rail_event_by_due;
create index sandbox_rail_event_by_delivery on sandbox_rail_event ((greatest(due_at, handed_until))) where not acknowledged;

-- Each claim and each end of work leaves dead index entries at the head of the range, which every poll passes until a vacuum.
-- A vacuum therefore starts after few changes and does not pause. It does not give pages back, which would lock out the workers.
-- A lower fillfactor would not help: a claim changes an indexed value, so it is never a heap-only update.
alter table work set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);
alter table sandbox_rail_event set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off);
