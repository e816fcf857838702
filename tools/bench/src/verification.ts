import { setTimeout as sleep } from 'node:timers/promises';
import { openDeployment, type Deployment } from '@banking/deployment';
import { ContinuousVerification, OrderService, startBankingWorker } from '@banking/operations';
import { bind, sqlStatement } from '@banking/postgres';
import { DEMO_RATES } from '@banking/rates';
import { alone, type Figure } from './figures.js';
import { posting } from './orders.js';
import { makePayers } from './payers.js';
import { postmasterOf, processorTime, type ProcessorTime } from './processor-time.js';
import { startService } from './service.js';
import { inWorkshop } from './world.js';

export interface VerificationOptions {
  readonly seconds: number;
  readonly connections: number;
  readonly accounts: number;
  readonly onProgress: (line: string) => void;
}

/** Processor time of an order in microseconds, and the share of its verification. */
export interface VerificationResult {
  readonly orders: number;
  readonly placing: ProcessorTime;
  readonly payingOut: ProcessorTime;
  readonly verifying: ProcessorTime;
  /** Of placing and paying out. */
  readonly share: number;
  readonly aim: number;
}

const AIM = 0.02;
/** Long enough for a first response on a busy machine. */
const WARM_UP_S = 3;

const COUNT_PAYOUTS = sqlStatement<{ count: number }>(
  'bench_open_payouts',
  `select count(*)::int as count from work where kind = 'payout'`,
);

/** Measures the processor time of the continuous verification against that of the orders and payouts that it verifies. */
export function benchVerification(options: VerificationOptions): Promise<VerificationResult> {
  return inWorkshop(async ({ folder, runs }) => {
    const { seconds, accounts, onProgress } = options;
    const dataDir = folder('verification');
    onProgress(`A database with ${accounts} accounts`);
    const payers = await makePayers(dataDir, { accounts, workspaces: 1 });
    const deployment = await openDeployment({ dataDir, isSandbox: true, prepare: false });
    runs({ stop: () => deployment.close() });
    await deployment.refreshStatistics();
    const service = runs(await startService(dataDir));
    const place = posting(service, payers.accounts, options);
    await place(WARM_UP_S);
    await settlePayouts(deployment);

    const server = await postmasterOf(deployment.database);
    onProgress(`Placing orders for ${seconds} s`);
    const placing = await measured(service.pid, server, () => place(seconds));
    const orders = await openPayouts(deployment);
    onProgress(`Verifying ${orders} orders`);
    const verifying = await measured(process.pid, server, () => verify(deployment));
    onProgress(`Paying out ${orders} orders`);
    const payingOut = await measured(process.pid, server, () => settlePayouts(deployment));

    const total = sumOf(placing) + sumOf(payingOut);
    const each = ({ service: ours, database }: ProcessorTime) => ({
      service: ours / orders,
      database: database / orders,
    });
    return {
      orders,
      placing: each(placing),
      payingOut: each(payingOut),
      verifying: each(verifying),
      share: sumOf(verifying) / total,
      aim: AIM,
    };
  });
}

async function measured(pid: number, server: number, work: () => Promise<unknown>): Promise<ProcessorTime> {
  const before = processorTime(pid, server);
  await work();
  const after = processorTime(pid, server);
  return { service: after.service - before.service, database: after.database - before.database };
}

/** @throws Error at a finding */
async function verify({ database }: Deployment): Promise<void> {
  let findings = 0;
  const verification = new ContinuousVerification(database, (stop) => (findings = stop.findings));
  while ((await verification.verifyNew()) > 0);
  if (findings > 0) throw new Error(`${findings} findings in the books`);
}

async function openPayouts({ database }: Deployment): Promise<number> {
  return (await database.read({}, bind(COUNT_PAYOUTS)))?.count ?? 0;
}

/** Verifies first, so that the worker finds nothing to verify. */
async function settlePayouts(deployment: Deployment): Promise<void> {
  await verify(deployment);
  const worker = startBankingWorker(deployment, {
    orders: new OrderService(deployment.books, DEMO_RATES, { hasPayoutNetwork: true }),
    sandbox: true,
  });
  try {
    while ((await openPayouts(deployment)) > 0) await sleep(500);
  } finally {
    await worker.stop();
  }
}

const sumOf = ({ service, database }: ProcessorTime) => service + database;

/** The share as a figure. */
export function figuresOfVerification({ share, aim }: VerificationResult): Figure[] {
  const name = 'Verification, share of the processor time of placing and paying out';
  return [alone(name, '%', share * 100, { aim: aim * 100, isAtMost: true })];
}

/** The result as text. */
export function reportVerification({ orders, share, aim, ...parts }: VerificationResult): string {
  const line = (name: string, { service, database }: ProcessorTime) =>
    `  ${name.padEnd(11)} ${service.toFixed(0)} µs in Node, ${database.toFixed(0)} µs in the database`;
  const verdict = share <= aim ? 'reached' : `missed by ${((share - aim) * 100).toFixed(1)} %`;
  return [
    `Processor time of an order, of ${orders} orders`,
    `  share       ${(share * 100).toFixed(1)} %, aim ≤ ${aim * 100} %: ${verdict}`,
    line('placing', parts.placing),
    line('paying out', parts.payingOut),
    line('verifying', parts.verifying),
  ].join('\n');
}
