import { setTimeout as sleep } from 'node:timers/promises';
import type { SentOrder } from '../client-log.js';
import { whyNoClocks } from '../devices.js';
import { runLoad } from '../load.js';
import { call, type Endpoint, sendOrder } from '../orders.js';
import { noteFault, type RunContext, type Scenario } from '../scenario.js';
import { makeWorld, Preparation } from '../world.js';
import { traceClaims } from './payouts.js';

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
