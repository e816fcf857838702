-- The demo world remembers what it has made, step by step, so that a start cut short goes on where it stopped.

create table demo_step (
  name text primary key,
  id bigint not null,
  made_at timestamptz not null default now()
);
grant select, insert on demo_step to banking_app;
