import { setTimeout as sleep } from 'node:timers/promises';
import { minorUnits } from '@banking/domain';
import { call, type Endpoint } from '../call.js';
import type { SentOrder } from '../client-log.js';
import type { Member } from '../cluster.js';
import { checkFinalState } from '../final-state.js';
import { runLoad } from '../load.js';
import { hasFaketime } from '../process-clock.js';
import type { RunContext, Scenario } from '../scenario.js';
import { sendOrder } from '../send-order.js';
import { WorkTrace } from '../work-trace.js';
import { FUNDS, makeWorld, PAYOUT_FEE, Preparation } from '../world.js';

const SIZE = { pool: 6, owned: 8 };
const HOURS = 1;
const JUMP_MS = [1_000, 3_000] as const;
/** A payout is submitted soon under load. */
const CLAIM_WAIT_MS = 3_000;
/** So long before the end of its 30 days, a key ends for a process whose clock is an hour ahead, if that clock decides. */
const AGE = `interval '29 days 23 hours 30 minutes'`;
/** A token that has expired for a process whose clock is an hour ahead. */
const SHORT_LIFETIME_S = 1_800;

/** An order whose key is about to expire. */
type AgedOrder = SentOrder & { attempts: number };

/**
 * The wall clock of one process after another jumps by an hour, ahead or back, and returns. PostgreSQL has the real time, which decides
 * on keys and leases. A token is judged by the clock of the api process.
 */
export const clockJumps: Scenario = {
  name: 'clock-jumps',
  faults: ['clock-forward', 'clock-back'],
  phase: 'other',
  cluster: { hasClocks: true },
  missing: () => (hasFaketime ? undefined : 'faketime is not installed'),
  minutesMax: 2.5,
  async run(context) {
    const { cluster, log, random, prefix, signal, tally, onProgress } = context;
    const clients = new Clients(context);
    const world = await makeWorld(clients, SIZE);
    const aged = await placeAgedOrder(context);
    const trace = await WorkTrace.install(cluster.database);
    const startedAt = new Date();
    onProgress(`${SIZE.owned} clients, clocks that jump by an hour`);
    await Promise.all([
      jumpUntilAborted(context, clients, aged),
      runLoad({
        ...{ endpoint: clients, world, log, random, prefix, signal },
        onOrder: (outcome) => {
          tally.countOperation(outcome === 'ok');
          if (outcome === 'ok') tally.count('acknowledged');
        },
        onRead: () => tally.count('reads'),
      }),
    ]);
    const feeOf = ({ recipientId, workspaceId }: SentOrder) =>
      recipientId === world.payoutRecipient(workspaceId) ? PAYOUT_FEE : minorUnits(0n);
    await checkFinalState(context, { owned: world.owned, startedAt, feeOf });
    tally.addViolations([...(await trace.foreignChanges()), ...(await trace.earlyClaims())]);
    await trace.remove();
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
    const { clock } = cluster.apis[api % cluster.apis.length] as Member;
    return (this.renewal ??= cluster
      .tokenBy(clock)
      .then((token) => void (this.token = token))
      .finally(() => (this.renewal = undefined)));
  };
}

async function jumpUntilAborted(context: RunContext, clients: Clients, aged: AgedOrder): Promise<void> {
  const { cluster, log, random, signal, tally } = context;
  const { apis, workers } = cluster;
  for (let round = 0; !signal.aborted; round += 1) {
    const hours = (round >> 1) % 2 === 0 ? HOURS : -HOURS;
    const members = round % 2 === 0 ? apis : workers;
    const index = (round >> 2) % members.length;
    const target = members[index] as Member;
    const deliver = members === workers ? await holdClaim(workers[1 - index] as Member, signal) : undefined;
    target.clock.shift(hours);
    const kind = hours > 0 ? 'clock-forward' : 'clock-back';
    await log.append({ event: 'fault', kind, target: target.process.name });
    if (members === apis) {
      // A token that was verified before the jump is accepted without a look at the clock.
      clients.token = await cluster.newToken();
      await checkTokens(context, index, hours);
      await replay(context, aged, index);
    }
    await sleep(random.between(...JUMP_MS));
    deliver?.();
    target.clock.shift(0);
    if (members === apis) await checkTokens(context, index, 0);
    tally.countFault(kind);
  }
}

/** Keeps a worker from finishing a payout, whose lease the other worker must then respect. */
const holdClaim = ({ proxy }: Member, signal: AbortSignal) =>
  proxy.holdBack('sandbox_submit', AbortSignal.any([signal, AbortSignal.timeout(CLAIM_WAIT_MS)]));

/** Sends tokens that the process has not seen before. */
async function checkTokens(context: RunContext, api: number, hours: number): Promise<void> {
  const { cluster } = context;
  const { clock, process } = cluster.apis[api] as Member;
  const [fresh, short, own] = await Promise.all([
    cluster.newToken(),
    cluster.newToken({ lifetimeSeconds: SHORT_LIFETIME_S }),
    cluster.tokenBy(clock),
  ]);
  const when = `${process.name} with a clock ${hours} hours ahead`;
  await expectStatus(context, { api, token: fresh }, hours < 0 ? 401 : 200, `${when}, a new token`);
  await expectStatus(context, { api, token: short }, hours === 0 ? 200 : 401, `${when}, a token of half an hour`);
  await expectStatus(context, { api, token: own }, 200, `${when}, a new token by its clock`);
}

async function expectStatus(
  { cluster, log, tally }: RunContext,
  { api, token }: { readonly api: number; readonly token: string },
  expected: number,
  subject: string,
): Promise<void> {
  const endpoint = { token, url: (number: number) => cluster.url(number) };
  const { status, error } = await call(endpoint, { api, method: 'GET', path: '/accounts', workspaceId: 1 });
  // A machine that is busy.
  if (status === 503) return;
  const actual = String(status ?? error);
  await log.append({ event: 'read', check: 'outcome', subject, api, expected: String(expected), actual });
  tally.count('tokens');
}

async function placeAgedOrder({ cluster, log, prefix }: RunContext): Promise<AgedOrder> {
  const preparation = new Preparation(cluster.endpoint);
  await preparation.readProducts();
  const payer = await preparation.openAccount(1, 'EUR', FUNDS);
  const recipientId = await preparation.addRecipient(1, await preparation.openAccount(1, 'EUR', minorUnits(1n)));
  const order = { key: `${prefix}-aged-1`, workspaceId: 1, accountId: payer.id, recipientId, amount: '100' };
  const { outcome } = await sendOrder(cluster.endpoint, log, { order, isPayout: false, attempt: 1, api: 0 });
  if (outcome !== 'ok') throw new Error(`the order with an aged key ended as ${outcome}`);
  await cluster.database.query(`with moved as (select set_config('session_replication_role', 'replica', false))
    update banking.idempotency set created_at = now() - ${AGE} where key = '${order.key}' and (select count(*) from moved) = 1`);
  return { ...order, attempts: 1 };
}

/** Sends the order with the aged key again. Its response is compared with the first one at the end of the run. */
async function replay({ cluster, log, tally }: RunContext, aged: AgedOrder, api: number): Promise<void> {
  const token = await cluster.tokenBy((cluster.apis[api] as Member).clock);
  const endpoint = { token, url: (number: number) => cluster.url(number) };
  const { attempts: _, ...order } = aged;
  aged.attempts += 1;
  const { outcome, status } = await sendOrder(endpoint, log, { order, isPayout: false, attempt: aged.attempts, api });
  if (outcome === 'ok') tally.count('keys');
  // A machine that is busy.
  else if (status !== 503) {
    const detail = `a key that was acknowledged and has not expired got ${status ?? 'no response'}`;
    tally.addViolations([{ check: 'outcome', detail }]);
  }
}
