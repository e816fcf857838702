-- As the policies of the books (0065).
-- Phase: expand

alter policy written_now on customer_order
  with check (created_at between symmetric now() and statement_timestamp() and updated_at = created_at);
alter policy written_now on remittance
  with check (created_at between symmetric now() and statement_timestamp() and updated_at = created_at);
