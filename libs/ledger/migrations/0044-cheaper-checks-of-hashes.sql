-- Hashes and digests are checked without a counted repetition: PostgreSQL builds a state for each repetition, for each value.

-- In the order of a posting. No row is read (`not valid`): every row met the former check, which was the same rule.
lock table account, transaction, transfer in access exclusive mode;
alter table account drop constraint account_head_check;
alter table account add constraint account_head_check check (
  length(head) in (0, 64) and head !~ '[^0-9a-f]') not valid;
alter table transaction drop constraint transaction_hash_check, drop constraint transaction_digests;
alter table transaction add constraint transaction_hash_check check (length(hash) = 64 and hash !~ '[^0-9a-f]') not valid;
alter table transaction add constraint transaction_digests check (
  hash_version in (1, 2) and (hash_version = 2 or num_nonnulls(order_digest, conversion_digest) = 0)
  and length(order_digest) = 64 and order_digest !~ '[^0-9a-f]'
  and length(conversion_digest) = 64 and conversion_digest !~ '[^0-9a-f]') not valid;
alter table transfer drop constraint transfer_recipient_digest;
alter table transfer add constraint transfer_recipient_digest check (
  (recipient_id is null) = (recipient_digest is null)
  and length(recipient_digest) = 64 and recipient_digest !~ '[^0-9a-f]') not valid;
