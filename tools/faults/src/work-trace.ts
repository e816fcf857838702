import type { Violation } from './check-orders.js';
import type { DatabaseServer } from './database-server.js';

/** Every change of a piece of work, with the process that made it: its connections have its name. */
const INSTALL = `
  create schema faults_trace;
  create table faults_trace.change (
    id bigserial primary key, process text not null, subject text not null, old_fence bigint not null, new_fence bigint
  );
  create function faults_trace.record() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into faults_trace.change (process, subject, old_fence, new_fence)
    values (current_setting('application_name'), concat_ws(' ', old.workspace_id, old.kind, old.subject_id), old.fence,
            case when tg_op = 'UPDATE' then new.fence end);
    return null;
  end $$;
  create trigger faults_trace after update or delete on banking.work for each row execute function faults_trace.record();`;

const REMOVE = 'drop trigger faults_trace on banking.work; drop schema faults_trace cascade';

/** Changes by a process other than the one that made the claim with the fence that the row had. A new claim raises the fence. */
const FOREIGN = `
  select c.process, c.subject, c.old_fence::int as fence, o.process as owner
  from faults_trace.change c
  join faults_trace.change o on o.subject = c.subject and o.new_fence = c.old_fence and o.old_fence < o.new_fence
  where c.process <> o.process and coalesce(c.new_fence, c.old_fence) = c.old_fence and c.process like 'banking-%'
  order by c.id`;

const EXPIRE = `
  with expired as (
    update banking.work set leased_until = clock_timestamp() - interval '1 s'
    where leased_until > clock_timestamp() and parked_at is null returning 1
  ) select count(*)::int as count from expired`;

const LEASED = `select count(*)::int as count from banking.work where leased_until > clock_timestamp() and fence > 0`;

/** The queue of work as the database sees it: who changed what under which claim. */
export class WorkTrace {
  private constructor(private readonly database: DatabaseServer) {}

  static async install(database: DatabaseServer): Promise<WorkTrace> {
    await database.query(INSTALL);
    return new WorkTrace(database);
  }

  /** Ends all leases, as time does after 30 seconds. @returns how many there were */
  async expireLeases(): Promise<number> {
    return (await this.database.query<{ count: number }>(EXPIRE))[0]?.count ?? 0;
  }

  async countLeased(): Promise<number> {
    return (await this.database.query<{ count: number }>(LEASED))[0]?.count ?? 0;
  }

  /** A worker that changed what another one had claimed. */
  async foreignChanges(): Promise<Violation[]> {
    const rows = await this.database.query<{ process: string; subject: string; fence: number; owner: string }>(FOREIGN);
    return rows.map(({ process, subject, fence, owner }) => ({
      check: 'claims',
      detail: `${process} changed work ${subject}, which ${owner} had claimed with fence ${fence}`,
    }));
  }

  async remove(): Promise<void> {
    await this.database.query(REMOVE);
  }
}
