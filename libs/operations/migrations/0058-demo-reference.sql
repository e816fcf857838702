-- Reference data with invented figures is marked, so that a live service does not show it to callers.
-- Phase: expand

-- True until the deployment has set the limits and the delivery time itself.
alter table corridor add column is_demo boolean not null default true;
-- The delivery times of the demo contain this word.
update corridor set is_demo = false where delivery_tat not like '%(demo)%';

-- Has no meaning without a minimum.
alter table currency add column swift_minimum_is_demo boolean not null default true;
