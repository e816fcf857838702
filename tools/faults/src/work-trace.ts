import type { Violation } from './check-orders.js';
import { PROCESS_SETTING } from './cluster.js';
import type { DatabaseServer } from './database-server.js';

/**
 * Every claim, renewal and release of a piece of work, with the process that made it: its connections hold its name. An
 * event of the network ends work or makes it due without a claim, and is not recorded.
 */
const INSTALL = `
  create schema faults_trace;
  create table faults_trace.change (
    id bigserial primary key, process text not null, subject text not null, old_fence bigint not null, new_fence bigint not null,
    was_leased boolean not null
  );
  create function faults_trace.record() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
  begin
    insert into faults_trace.change (process, subject, old_fence, new_fence, was_leased)
    values (coalesce(current_setting('${PROCESS_SETTING}', true), ''), concat_ws(' ', old.workspace_id, old.kind, old.subject_id), old.fence, new.fence,
      coalesce(old.leased_until > clock_timestamp(), false));
    return null;
  end $$;
  create trigger faults_trace after update on banking.work for each row
    when ((old.fence, old.leased_until, old.tries, old.delays) is distinct from (new.fence, new.leased_until, new.tries, new.delays))
    execute function faults_trace.record();`;

const REMOVE = 'drop trigger faults_trace on banking.work; drop schema faults_trace cascade';

/** Changes by a process other than the one that made the claim with the fence that the row had. A new claim raises the fence. */
const FOREIGN = `
  select c.process, c.subject, c.old_fence::int as fence, o.process as owner
  from faults_trace.change c
  join faults_trace.change o on o.subject = c.subject and o.new_fence = c.old_fence and o.old_fence < o.new_fence
  where c.process <> o.process and c.new_fence = c.old_fence and c.process <> ''
  order by c.id`;

/** Claims of work whose lease had not ended by the clock of the database. */
const EARLY = `
  select process, subject, new_fence::int as fence from faults_trace.change
  where new_fence > old_fence and was_leased order by id`;

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

  /** As `expireLeases`. */
  expireLeases(): Promise<number> {
    return expireLeases(this.database);
  }

  async countLeased(): Promise<number> {
    return (await this.database.query<{ count: number }>(LEASED))[0]?.count ?? 0;
  }

  /** A worker that renewed or released what another one had claimed. */
  async foreignChanges(): Promise<Violation[]> {
    const rows = await this.database.query<{ process: string; subject: string; fence: number; owner: string }>(FOREIGN);
    return rows.map(({ process, subject, fence, owner }) => ({
      check: 'claims',
      detail: `${process} renewed or released work ${subject}, which ${owner} had claimed with fence ${fence}`,
    }));
  }

  /** A worker that claimed work before the lease of the claim before it had ended. */
  async earlyClaims(): Promise<Violation[]> {
    const rows = await this.database.query<{ process: string; subject: string; fence: number }>(EARLY);
    return rows.map(({ process, subject, fence }) => ({
      check: 'claims',
      detail: `${process} claimed work ${subject} with fence ${fence}, and the lease before had not ended`,
    }));
  }

  async remove(): Promise<void> {
    await this.database.query(REMOVE);
  }
}

/** Ends all leases, as time does after 30 seconds. @returns how many there were */
export async function expireLeases(database: DatabaseServer): Promise<number> {
  return (await database.query<{ count: number }>(EXPIRE))[0]?.count ?? 0;
}
