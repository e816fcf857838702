import { setTimeout as sleep } from 'node:timers/promises';
import { readBooks } from '../read-books.js';
import { compareBooks, type Moment } from './compare-books.js';
import type { PostgresServer } from './postgres-server.js';
import type { RecoveryLoad } from './recovery-load.js';
import type { Service } from './service.js';
import { checkPayments, countOpenPayouts, lostPayments, type NetworkCopy, writeNetwork } from './surviving-network.js';

/** A recovered server, on which the worker of the service does not run yet. */
export interface Recovered {
  readonly server: PostgresServer;
  readonly service: Service;
  readonly load: RecoveryLoad;
  readonly network: NetworkCopy;
  readonly moment: Moment;
  readonly onProgress: (line: string) => void;
  /** As docs/maintain.md describes. The random part of a payout's key protects also without it. */
  readonly advanceIds: boolean;
}

export interface RecoveryFigures {
  readonly transfers: number;
  readonly acknowledged: number;
  /** Acknowledged orders that the recovered books do not have. */
  readonly lostOrders: number;
  /** Payments that the network has and the recovered books do not. */
  readonly lostPayments: number;
  /** Payouts of which the network knew more than the recovered books. */
  readonly takenOver: number;
  readonly verifySeconds: number;
  readonly violations: readonly string[];
}

const SETTLE_MS = 180_000;
/** Orders of each kind that are sent again after the recovery. */
const SENT_AGAIN_MAX = 30;

const ADVANCE_IDS = `
  select setval(format('banking.%I', sequencename), last_value + 1000000)
  from pg_sequences where schemaname = 'banking' and last_value is not null`;

/** Does what docs/maintain.md tells an operator to do after a recovery, and proves the result. */
export async function checkRecovered(recovered: Recovered): Promise<RecoveryFigures> {
  const { server, service, load, onProgress } = recovered;
  onProgress('verifying the recovered books');
  const books = await readBooks([server], load.prefix);
  const comparison = compareBooks(await load.events(), books, recovered.moment);
  const violations = [...comparison.violations];
  const startedAt = Date.now();
  violations.push(...(await verify(service)));
  const verifySeconds = (Date.now() - startedAt) / 1000;

  await writeNetwork(server, recovered.network);
  const expected = await lostPayments(server);
  const dry = await reconcile(service);
  const applied = await reconcile(service, '--apply');
  const again = await reconcile(service, '--apply');
  for (const { lost } of [dry, applied, again]) {
    if (lost.join() !== expected.join())
      violations.push(`reconcile lists ${lost.length} of ${expected.length} lost payments`);
  }
  violations.push(...[dry, applied, again].flatMap(({ others }) => others));
  if (again.lagging > 0) violations.push('a second reconcile records events again');
  if (recovered.advanceIds) await server.query(ADVANCE_IDS);

  onProgress('starting the service again, and sending orders again');
  await service.resume();
  const { kept, lost } = comparison;
  for (const operation of [...kept.slice(-SENT_AGAIN_MAX), ...lost.slice(0, SENT_AGAIN_MAX)]) {
    const { outcome, orderId, reason } = await load.sendAgain(operation);
    const isKept = kept.includes(operation);
    if (outcome !== 'ok') violations.push(`${operation.key} sent again was not acknowledged: ${reason}`);
    else if (isKept && orderId !== operation.orderId) violations.push(`${operation.key} sent again made another order`);
  }
  await settle(server);
  violations.push(...(await checkPayments(server)));
  const strays = await lostPayments(server);
  if (strays.join() !== expected.join()) violations.push('a new payout has the key of a lost payment');
  violations.push(...(await verify(service)));
  const [row] = await server.query<{ count: number }>('select count(*)::int as count from transfer');
  return {
    transfers: row?.count ?? 0,
    acknowledged: comparison.acknowledged,
    lostOrders: lost.length,
    lostPayments: expected.length,
    takenOver: applied.lagging,
    verifySeconds,
    violations,
  };
}

async function verify(service: Service): Promise<string[]> {
  const { exitCode, stdout, stderr } = await service.banking('verify', '--json');
  return exitCode === 0 ? [] : [`banking verify ended with ${exitCode}: ${(stderr || stdout).slice(-1_000)}`];
}

/** The output of `banking work reconcile`. */
async function reconcile(service: Service, ...options: readonly string[]) {
  const { exitCode, stdout, stderr } = await service.banking('work', 'reconcile', '--json', ...options);
  if (stdout === '') throw new Error(`banking work reconcile ended with ${exitCode}: ${stderr}`);
  const result = JSON.parse(stdout) as {
    readonly lagging: readonly unknown[];
    readonly differences: readonly { readonly kind: string; readonly key: string }[];
  };
  const isLost = ({ kind }: { readonly kind: string }) => kind === 'payment_not_in_books';
  const others = result.differences.filter((one) => !isLost(one)).map(({ kind, key }) => `reconcile: ${kind} ${key}`);
  if (exitCode !== (result.differences.length > 0 ? 1 : 0)) others.push(`reconcile ended with ${exitCode}`);
  const lost = result.differences.filter(isLost).map(({ key }) => key);
  return { lost: lost.sort(), lagging: result.lagging.length, others };
}

/** Waits until the workers have finished the payouts. What is left is reported by `checkPayments`. */
async function settle(server: PostgresServer): Promise<void> {
  const until = Date.now() + SETTLE_MS;
  while ((await countOpenPayouts(server)) > 0 && Date.now() < until) await sleep(500);
}
