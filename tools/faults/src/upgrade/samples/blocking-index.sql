-- Canary: transfers wait while an index is built.
-- Phase: expand

create index transfer_by_text on transfer (workspace_id, description, type, direction, created_at, id);
