import type { DatabaseServer } from './database-server.js';

/** A sequence counts the errors, because it is not rolled back. */
const INSTALL = `
  create schema faults;
  create sequence faults.raised;
  create table faults.injection (code text not null, share float8 not null);
  insert into faults.injection values ('40001', 0);
  create function faults.raise_error() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  declare
    injected record;
  begin
    select code, share into injected from faults.injection;
    if random() < injected.share then
      perform nextval('faults.raised');
      raise exception 'injected' using errcode = injected.code;
    end if;
    return new;
  end $$;
  create trigger injected_errors before insert on banking.customer_order
    for each row execute function faults.raise_error();`;

const REMOVE = 'drop trigger injected_errors on banking.customer_order; drop schema faults cascade';

const COUNT = 'select case when is_called then last_value else 0 end::int as count from faults.raised';

/** A trigger that raises an error of PostgreSQL when an order is written. */
export class ErrorInjection {
  private constructor(private readonly database: DatabaseServer) {}

  static async install(database: DatabaseServer): Promise<ErrorInjection> {
    await database.query(INSTALL);
    return new ErrorInjection(database);
  }

  /** @param share of the orders, 0 to 1 */
  async set(code: string, share: number): Promise<void> {
    await this.database.query('update faults.injection set code = $1, share = $2', [code, share]);
  }

  /** Errors raised so far. */
  async count(): Promise<number> {
    return (await this.database.query<{ count: number }>(COUNT))[0]?.count ?? 0;
  }

  async remove(): Promise<void> {
    await this.database.query(REMOVE);
  }
}
