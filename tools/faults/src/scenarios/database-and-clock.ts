import { setTimeout as sleep } from 'node:timers/promises';
import type { SentOrder } from '../client-log.js';
import { call, isUnavailable, type Received, sendOrder, sendUntilDone, type Endpoint } from '../orders.js';
import { noteFault, type RunContext, type Scenario } from '../scenario.js';
import { type Payment, Preparation, makeWorld } from '../world.js';
import { sampleResources } from './load.js';
import { whyNoClocks } from '../devices.js';
import { runLoad } from '../load.js';
import { traceClaims } from './payouts.js';

/** The SQLSTATEs of the failures that a service must survive: conflicts, a lock, a cancelled statement, a lost connection. */
const SQLSTATES = ['40001', '40P01', '55P03', '57014', '08006'];

/** Raises an error when an order is written. A sequence counts the errors, because it is not rolled back. */
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

/** Orders at once, of which some fail in the database. */
const TOGETHER = 16;
const SHARE = 0.3;
const TRIES_MAX = 5;

/**
 * The database reports conflicts, lock and statement timeouts, and lost connections while it writes orders. A caller gets its order or a
 * 503, never another refusal. A failing order is tried at most five times.
 */
const databaseErrors: Scenario = {
  ...{ name: 'database-errors', faults: SQLSTATES.map((code) => `sqlstate-${code}`), phase: 'other', minutesMax: 1.1 },
  async run(context) {
    const { cluster, signal, tally, prefix, random } = context;
    const { database } = cluster;
    const preparation = new Preparation(cluster.endpoint);
    const payment = await preparation.pair();
    const payers = [payment.accountId, (await preparation.openAccount()).id, (await preparation.openAccount()).id];
    await database.query(INSTALL);
    let placed = 0;
    /** Sends orders while a share of the writes fails, and then again without errors. @returns how many writes failed */
    const failShare = async (code: string, share: number, count: number) => {
      const before = await database.count(COUNT);
      await database.query('update faults.injection set code = $1, share = $2', [code, share]);
      const orders = Array.from({ length: count }, (): SentOrder => {
        const own = { accountId: random.pick(payers), amount: String(random.between(1, 500)) };
        return { ...payment, ...own, key: `${prefix}-${(placed += 1)}` };
      });
      await Promise.all(orders.map((order) => sendWithErrors(context, order, share === 1)));
      await database.query('update faults.injection set share = 0');
      const raised = (await database.count(COUNT)) - before;
      tally.count('injected', raised);
      const sent = await Promise.all(orders.map((order) => complete(context, order)));
      for (const isComplete of sent) tally.countOperation(isComplete);
      return raised;
    };
    for (let round = 0; !signal.aborted; round += 1) {
      const code = SQLSTATES[round % SQLSTATES.length]!;
      const tries = await failShare(code, 1, 1);
      if (tries < 1 || tries > TRIES_MAX) tally.violate('outcome', `an order was tried ${tries} times after ${code}`);
      await failShare(code, SHARE, TOGETHER);
      await noteFault(context, `sqlstate-${code}`, 'customer_order');
    }
    await database.query(REMOVE);
    return {};
  },
};

/** A 503 with the time after which to retry is expected, and success unless it must fail; anything else is a violation. */
async function sendWithErrors({ cluster, log, random, tally }: RunContext, order: SentOrder, mustFail: boolean) {
  const sent = await sendOrder({ endpoint: cluster.endpoint, log }, order, random.below(2));
  const { status, reason, retryAfter, outcome } = sent;
  if (status === 503 && reason === 'unavailable' && retryAfter > 0) return;
  if (outcome === 'ok' && !mustFail) return;
  tally.violate('outcome', `${order.key} got ${status ?? ''} ${reason ?? ''}, Retry-After ${retryAfter}`);
}

async function complete({ cluster, log, tally }: RunContext, order: SentOrder): Promise<boolean> {
  const sender = { endpoint: cluster.endpoint, log };
  const { outcome } = await sendUntilDone(sender, order, (attempt) => attempt);
  if (outcome === 'ok') tally.count('acknowledged');
  else tally.violate('outcome', `${order.key} was not accepted without errors`);
  return outcome === 'ok';
}

const REQUESTS = 500;
const RETRY_AFTER_MAX_S = 2;
const RECOVERED_WITHIN_MS = 2_000;
const GROWTH_MAX_BYTES = 64 * 1024 * 1024;

/**
 * A lock on the accounts holds every database connection of the services, while 500 requests arrive. Each must get a 503 with a time
 * after which to retry. Once the lock is released, orders are placed within two seconds.
 */
const exhaustedPool: Scenario = {
  ...{ name: 'exhausted-pool', faults: ['lock'], phase: 'alone', minutesMax: 0.5 },
  async run(context) {
    const payment = await new Preparation(context.cluster.endpoint).pair();
    const sender = new Requests(context, payment);
    context.onProgress(`${REQUESTS} requests without a lock`);
    await sender.sendTogether();
    do await lockAccounts(context, sender);
    while (!context.signal.aborted);
    return {};
  },
};

async function lockAccounts(context: RunContext, requests: Requests): Promise<void> {
  const { cluster, tally } = context;
  const before = sampleResources(cluster);
  const lock = await cluster.database.connect();
  await lock.query('begin; lock table banking.account in access exclusive mode');
  const responses = await requests.sendTogether();
  await lock.end();
  const releasedAt = performance.now();
  const isRecovered = await Promise.all([0, 1].map((api) => requests.untilPlaced(api)));
  const recoveryMs = Math.round(performance.now() - releasedAt);
  await noteFault(context, 'lock', 'account');
  tally.count('requests', responses.length);
  for (const response of responses) {
    const { status, headers, error, ms } = response;
    const retryAfter = headers?.['retry-after'];
    const isExpected = isUnavailable(response) && Number(retryAfter) <= RETRY_AFTER_MAX_S;
    tally.countOperation(isExpected);
    if (isExpected) continue;
    const time = `after ${Math.round(ms)} ms, Retry-After ${retryAfter ?? 'missing'}`;
    tally.violate('outcome', `a request got ${status ?? error} ${time}`);
  }
  if (recoveryMs > RECOVERED_WITHIN_MS || isRecovered.includes(false)) {
    tally.violate('response-time', `orders were placed ${recoveryMs} ms after the lock was released`);
  }
  for (const { process, pid, rssBytes } of sampleResources(cluster)) {
    const grown = rssBytes - (before.find((sample) => sample.pid === pid)?.rssBytes ?? rssBytes);
    if (grown <= GROWTH_MAX_BYTES) continue;
    tally.violate('growth', `${process} grew by ${Math.round(grown / 1024 / 1024)} MiB for ${REQUESTS} requests`);
  }
}

class Requests {
  private placed = 0;

  constructor(
    private readonly context: RunContext,
    private readonly payment: Payment,
  ) {}

  async sendTogether(): Promise<Received[]> {
    const { endpoint } = this.context.cluster;
    const { workspaceId, accountId } = this.payment;
    const received: Received[] = [];
    const one = async (_: unknown, index: number) => {
      const options = { api: index >> 1, method: 'GET', path: `/accounts/${accountId}`, workspaceId } as const;
      if (index % 2 === 0) received.push(await call(endpoint, options));
      else await this.place(index >> 1, (response) => received.push(response));
    };
    await Promise.all(Array.from({ length: REQUESTS }).map(one));
    return received;
  }

  async untilPlaced(api: number): Promise<boolean> {
    const until = Date.now() + 10 * RECOVERED_WITHIN_MS;
    while (Date.now() < until) if (await this.place(api, () => undefined)) return true;
    return false;
  }

  private async place(api: number, onReceived: (received: Received) => void): Promise<boolean> {
    const { cluster, log, prefix } = this.context;
    const order = { ...this.payment, key: `${prefix}-${(this.placed += 1)}` };
    return (await sendOrder({ endpoint: { ...cluster.endpoint, onReceived }, log }, order, api)).outcome === 'ok';
  }
}

export const DATABASE_SCENARIOS: readonly Scenario[] = [databaseErrors, exhaustedPool];

const HOURS = 1;
const JUMP_MS = [1_000, 3_000] as const;
/** A payout is submitted soon under load. */
const CLAIM_WAIT_MS = 3_000;
/** So long before the end of its 30 days, a key ends for a process whose clock is an hour ahead, if that clock decides. */
const AGE = `interval '29 days 23 hours 30 minutes'`;
/** A token that has expired for a process whose clock is an hour ahead. */
const SHORT_LIFETIME_S = 1_800;

/**
 * The wall clock of one process after another jumps by an hour, ahead or back, and returns. PostgreSQL has the real time, which decides
 * on keys and leases. A token is judged by the clock of the api process.
 */
export const clockJumps: Scenario = {
  ...{ name: 'clock-jumps', faults: ['clock-forward', 'clock-back'], phase: 'other', minutesMax: 2.5 },
  cluster: { hasClocks: true },
  missing: whyNoClocks,
  async run(context) {
    const { cluster } = context;
    const clients = new Clients(context);
    const world = await makeWorld(clients, { pool: 6, owned: 8 });
    const aged = await placeAgedOrder(context);
    const check = await traceClaims(cluster.database, { isEarlyWrong: true });
    await Promise.all([jumpUntilAborted(context, clients, aged), runLoad(context, { endpoint: clients, world })]);
    return { owned: world.owned, check };
  },
};

/** The clients share a token. After a 401 they get a new one, which the refusing process accepts by its clock. */
class Clients implements Endpoint {
  token: string;
  private renewal: Promise<void> | undefined;

  constructor(private readonly context: RunContext) {
    this.token = context.cluster.token;
  }

  readonly url = (api: number): string => this.context.cluster.url(api);

  /** Concurrent clients get the same token. */
  readonly renewToken = (api: number): Promise<void> => {
    const { cluster } = this.context;
    return (this.renewal ??= cluster
      .tokenBy(cluster.apis[api % 2]!.clock)
      .then((token) => void (this.token = token))
      .finally(() => (this.renewal = undefined)));
  };
}

async function jumpUntilAborted(context: RunContext, clients: Clients, aged: SentOrder): Promise<void> {
  const { cluster, random, signal } = context;
  const { apis, workers } = cluster;
  for (let round = 0; !signal.aborted; round += 1) {
    const hours = (round >> 1) % 2 === 0 ? HOURS : -HOURS;
    const isApi = round % 2 === 0;
    const index = (round >> 2) % 2;
    const { clock, process } = (isApi ? apis : workers)[index]!;
    // Keeps the other worker from finishing a payout, whose lease this one must then respect.
    const wait = AbortSignal.any([signal, AbortSignal.timeout(CLAIM_WAIT_MS)]);
    const deliver = isApi ? undefined : await workers[1 - index]!.proxy.holdBack('sandbox_submit', wait);
    clock.shift(hours);
    if (isApi) {
      // A token that was verified before the jump is accepted without a look at the clock.
      clients.token = await cluster.newToken();
      await checkTokens(context, index, hours);
      await replay(context, aged, index);
    }
    await sleep(random.between(...JUMP_MS));
    deliver?.();
    clock.shift(0);
    if (isApi) await checkTokens(context, index, 0);
    await noteFault(context, hours > 0 ? 'clock-forward' : 'clock-back', process.name);
  }
}

async function checkTokens({ cluster, log, tally }: RunContext, api: number, hours: number): Promise<void> {
  const { clock, process } = cluster.apis[api]!;
  const short = await cluster.newToken({ lifetimeSeconds: SHORT_LIFETIME_S });
  const cases = [
    ['a new token', await cluster.newToken(), hours < 0 ? 401 : 200],
    ['a token of half an hour', short, hours === 0 ? 200 : 401],
    ['a new token by its clock', await cluster.tokenBy(clock), 200],
  ] as const;
  for (const [what, token, expected] of cases) {
    const options = { api, method: 'GET', path: '/accounts', workspaceId: 1 } as const;
    const { status, error } = await call({ token, url: (number) => cluster.url(number) }, options);
    // A machine that is busy.
    if (status === 503) continue;
    const subject = `${process.name} with a clock ${hours} hours ahead, ${what}`;
    const actual = String(status ?? error);
    await log.append({ event: 'read', check: 'outcome', subject, api, expected: String(expected), actual });
    tally.count('tokens');
  }
}

async function placeAgedOrder({ cluster, log, prefix }: RunContext): Promise<SentOrder> {
  const order = { ...(await new Preparation(cluster.endpoint).pair()), key: `${prefix}-aged-1` };
  const { outcome } = await sendOrder({ endpoint: cluster.endpoint, log }, order, 0);
  if (outcome !== 'ok') throw new Error(`the order with an aged key ended as ${outcome}`);
  const change = `update banking.idempotency set created_at = now() - ${AGE} where key = $1`;
  await cluster.database.changeSilently(change, [order.key]);
  return order;
}

/** Sends the order with the aged key again. Its response is compared with the first one at the end of the run. */
async function replay({ cluster, log, tally }: RunContext, aged: SentOrder, api: number): Promise<void> {
  const token = await cluster.tokenBy(cluster.apis[api]!.clock);
  const endpoint = { token, url: (number: number) => cluster.url(number) };
  const { outcome, status } = await sendOrder({ endpoint, log }, aged, api);
  if (outcome === 'ok') tally.count('keys');
  // A machine that is busy.
  else if (status !== 503) {
    tally.violate('outcome', `a key that was acknowledged and has not expired got ${status ?? 'no response'}`);
  }
}
