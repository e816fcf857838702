-- Outside a transaction: orders are listed by their placer from an index that is built while orders are inserted.
-- Phase: expand

-- As the other indexes of lists (0019). An order of the deployment itself has no placer.
drop index concurrently if exists placed_order_by_class;
create index concurrently placed_order_by_class
  on customer_order (workspace_id, placed_by, status, type, created_at desc, id desc)
  where placed_by is not null;
