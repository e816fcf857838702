import { setTimeout as sleep } from 'node:timers/promises';
import { PROCESS_SETTING } from '../cluster.js';
import { killWorkerAt } from '../faults.js';
import { noteFault, placeOrder, type RunContext, type Scenario, type Violation, violationsOf } from '../scenario.js';
import type { Server } from '../servers.js';
import { type Payment, PAYOUT_AMOUNT, Preparation, together } from '../world.js';

const SUBMISSION_WAIT_MS = 20_000;

/**
 * A worker hands a payout to the network and is killed before it can record that. The other worker, or the same one after its restart,
 * takes the payout over when the lease has ended.
 */
const payoutCrash: Scenario = {
  ...{ name: 'payout-crash', faults: ['kill-worker'], phase: 'other', minutesMax: 3.5 },
  async run(context) {
    const { cluster, prefix, signal } = context;
    const payment = await new Preparation(cluster.endpoint).pair(true);
    let placed = 0;
    for (let kill = 0; !signal.aborted; kill += 1) {
      const member = cluster.workers[kill % 2]!;
      let isOver = false;
      const wait = AbortSignal.timeout(SUBMISSION_WAIT_MS);
      const killed = killWorkerAt(member, 'sandbox_submit', wait).finally(() => (isOver = true));
      while (!isOver) {
        placed += 1;
        await placeOrder(context, { ...payment, key: `${prefix}-${placed}` }, placed);
        await sleep(100);
      }
      // A worker that submits none in time is left alone.
      if (await killed) await noteFault(context, 'kill-worker', member.process.name);
    }
    return {};
  },
};

/**
 * Every claim, renewal and release of a piece of work, with the process that made it: its connections hold its name. An
 * event of the network ends work or makes it due without a claim, and is not recorded.
 */
const INSTALL_TRACE = `
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

/** Changes by a process other than the one that made the claim with the fence that the row had. A new claim raises the fence. */
const FOREIGN = `
  select format('%s renewed or released work %s, which %s had claimed with fence %s', c.process, c.subject, o.process, c.old_fence) as fault
  from faults_trace.change c
  join faults_trace.change o on o.subject = c.subject and o.new_fence = c.old_fence and o.old_fence < o.new_fence
  where c.process <> o.process and c.new_fence = c.old_fence and c.process <> ''`;

/** Claims of work whose lease had not ended by the clock of the database. */
const EARLY = `
  select format('%s claimed work %s with fence %s, and the lease before had not ended', process, subject, new_fence) as fault
  from faults_trace.change where new_fence > old_fence and was_leased`;

/** Records from now on who changes the queue of work under which claim. @returns what reports wrong changes, and ends the recording */
export async function traceClaims(
  database: Server,
  { isEarlyWrong }: { readonly isEarlyWrong: boolean },
): Promise<() => Promise<Violation[]>> {
  await database.query(INSTALL_TRACE);
  return async () => {
    const wrong = await database.query<{ fault: string }>(FOREIGN);
    if (isEarlyWrong) wrong.push(...(await database.query<{ fault: string }>(EARLY)));
    await database.query('drop trigger faults_trace on banking.work; drop schema faults_trace cascade');
    return violationsOf(
      'claims',
      wrong.map(({ fault }) => fault),
    );
  };
}

/** Ends all leases, as time does after 30 seconds. */
export async function expireLeases(database: Server): Promise<void> {
  await database.query(`
    update banking.work set leased_until = clock_timestamp() - interval '1 s'
    where leased_until > clock_timestamp() and parked_at is null`);
}

const PAYOUTS = 3;
const WAIT_MS = 30_000;

/** A payment that the network has, by the fence of its work: it was handed over by a later claim. */
const TAKEN_OVER = `
  select count(*)::int as count from banking.payout p
  join banking.work w on w.kind = 'payout' and (w.workspace_id, w.subject_id) = (p.workspace_id, p.transaction_id)
  where p.status in ('submitted', 'settled') and w.fence > 1 and p.created_at > $1`;

/**
 * A worker has sent a payout to the network and is paused before it receives the response. Its leases end, and the other worker takes
 * the payouts over. Then the first worker goes on, with a response that it may no longer record.
 */
const lostLease: Scenario = {
  ...{ name: 'lost-lease', faults: ['lease-expired'], phase: 'other', minutesMax: 3 },
  async run(context) {
    const { cluster, signal, tally } = context;
    const payment = await new Preparation(cluster.endpoint).pair(true);
    const check = await traceClaims(cluster.database, { isEarlyWrong: false });
    for (let round = 0; !signal.aborted; round += 1) {
      const isTakenOver = await loseLease(context, payment, round);
      tally.countOperation(isTakenOver);
      if (!isTakenOver) continue;
      tally.count('takeovers');
      await noteFault(context, 'lease-expired', cluster.workers[round % 2]!.process.name);
    }
    return { check };
  },
};

/** @returns whether the other worker took over what the paused one had sent */
async function loseLease(context: RunContext, payment: Payment, round: number): Promise<boolean> {
  const { cluster, prefix } = context;
  const { workers, database } = cluster;
  const [paused, other] = [workers[round % 2]!, workers[(round + 1) % 2]!];
  const roundAt = new Date();
  other.process.pause();
  // It may hold leases of an earlier round, which its first round trip would use.
  await expireLeases(database);
  const held = paused.proxy.holdBack('sandbox_submit', AbortSignal.timeout(WAIT_MS));
  const keys = Array.from({ length: PAYOUTS }, (_, index) => `${prefix}-${round * PAYOUTS + index + 1}`);
  await Promise.all(keys.map((key, api) => placeOrder(context, { ...payment, key }, api)));
  const deliver = await held;
  if (deliver === undefined) {
    other.process.resume();
    return false;
  }
  paused.process.pause();
  deliver();
  await expireLeases(database);
  other.process.resume();
  const until = Date.now() + WAIT_MS;
  let isTakenOver = false;
  while (!isTakenOver && Date.now() < until) {
    await sleep(30);
    isTakenOver = (await database.count(TAKEN_OVER, [roundAt])) > 0;
  }
  paused.process.resume();
  return isTakenOver;
}

const GOOD = 1_980;
const POISON = 20;
const GOOD_LEAST = 100;
const SLOWER_MAX = 1.2;
const DRAIN_MS = 300_000;
/** The network of the sandbox cannot be reached for this account. */
const UNREACHABLE = 'DE45370400440532019030';

/** Payouts that the network does not have yet. Those that always fail stay so. */
const WAITING = `select count(*)::int as count from payout where status in ('due', 'submitting', 'parked') and created_at > $1`;
const PARKED = `
  select count(*)::int as count from payout p
  join work w on w.kind = 'payout' and (w.workspace_id, w.subject_id) = (p.workspace_id, p.transaction_id)
  where p.status = 'parked' and w.parked_at is not null and w.tries >= 10 and w.reason <> '' and p.reason <> '' and p.created_at > $1`;
/** A failed payout is tried again after minutes. The time passes at once here. */
const RETRY_NOW = `update work set due_at = clock_timestamp() where kind = 'payout' and tries > 0 and parked_at is null and leased_until is null`;

/** Payouts that always fail wait among others. The others must not take longer for them, and the failing ones are parked. */
const poison: Scenario = {
  ...{ name: 'poison', faults: ['poison'], phase: 'alone', minutesMax: 2.5 },
  async run(context) {
    const { cluster, tally, limitMs } = context;
    const preparation = new Preparation(cluster.endpoint);
    const payer = await preparation.openAccount();
    const good = await preparation.addPayoutRecipient(1);
    const failing = await preparation.addPayoutRecipient(1, UNREACHABLE);
    const count = Math.max(GOOD_LEAST, Math.min(GOOD, Math.round((limitMs / 120_000) * GOOD)));
    const goods = Array.from({ length: count }, () => good);
    const clean = await drain(context, payer.id, goods, 0);
    const poisonedAt = new Date();
    // The failing ones at even distances.
    const every = Math.floor(count / POISON);
    const mixed = goods.flatMap((one, at) => (at % every === 0 && at / every < POISON ? [failing, one] : [one]));
    const poisoned = await drain(context, payer.id, mixed, POISON);
    await noteFault(context, 'poison', 'the network');
    tally.count('payouts', count);
    const figures = `${count} payouts took ${clean} ms alone, and ${poisoned} ms among ${POISON} that fail`;
    tally.notes.push(figures);
    if (count < GOOD) tally.doubt('fewer payouts say nothing about the time');
    else if (poisoned > SLOWER_MAX * clean) tally.violate('poison', figures);
    const until = Date.now() + DRAIN_MS;
    let parked = 0;
    while (parked < POISON && Date.now() < until) {
      await cluster.database.query(RETRY_NOW);
      await sleep(200);
      parked = await cluster.database.count(PARKED, [poisonedAt]);
    }
    tally.count('parked', parked);
    if (parked < POISON) tally.violate('poison', `${parked} of ${POISON} failing payouts were parked with a reason`);
    return { owned: [payer] };
  },
};

/** Places payouts while the workers are paused. @returns how long the workers take for them */
async function drain(
  context: RunContext,
  accountId: number,
  recipients: readonly number[],
  failing: number,
): Promise<number> {
  const { cluster, prefix, tally } = context;
  const since = new Date();
  const before = tally.operations;
  for (const { process } of cluster.workers) process.pause();
  await together(recipients, (recipientId, index) => {
    const order = { workspaceId: 1, accountId, recipientId, amount: String(PAYOUT_AMOUNT), isPayout: true };
    return placeOrder(context, { ...order, key: `${prefix}-${before + index + 1}` }, index);
  });
  const beganAt = Date.now();
  for (const { process } of cluster.workers) process.resume();
  while ((await cluster.database.count(WAITING, [since])) > failing) {
    if (Date.now() > beganAt + DRAIN_MS) throw new Error('the payouts were not sent in time');
    await sleep(50);
  }
  return Date.now() - beganAt;
}

export const PAYOUT_SCENARIOS: readonly Scenario[] = [payoutCrash, lostLease, poison];
