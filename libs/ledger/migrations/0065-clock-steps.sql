-- A row is written at the time of its database transaction or of its statement. If the clock of the server steps back between the two, the
-- statement is the earlier one: no row would be accepted, although none has another time.
-- Phase: expand

alter policy written_now on transaction
  with check (created_at between symmetric now() and statement_timestamp() and updated_at = created_at);
alter policy written_now on transfer
  with check (created_at between symmetric now() and statement_timestamp());
