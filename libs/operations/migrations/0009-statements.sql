-- Statements look up thousands of transactions by their key in one go.

-- The key and this index both begin with the workspace. On a table without statistics the planner took them for equally good, and read
-- the whole workspace for every transaction. Without the rows that are no return there is one index to take, and less to write.
create unique index transaction_returned_once on transaction (workspace_id, return_of) where return_of is not null;
alter table transaction drop constraint transaction_workspace_id_return_of_key;
