-- The open quotes of a workspace are counted before another is made: those that expire later are a range of this index.

create index quote_by_expiry on quote (workspace_id, expires_at);
