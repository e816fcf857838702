import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import { openDeployment } from '@banking/deployment';
import { inPairs, ratiosOf, spreadOf, type Spread } from './comparison.js';
import { sampleTransfers } from './fill-books.js';
import { orderRequest } from './orders.js';
import { makePayers } from './payers.js';
import { freePort, startService, type BenchTarget } from './service.js';
import { analyzeWorld, inWorkshop } from './world.js';

export interface MetricsOptions {
  readonly rounds: number;
  /** Requests of one side in one round. */
  readonly requests: number;
  readonly connections: number;
  readonly accounts: number;
  readonly onProgress: (line: string) => void;
}

/** What the measured service has and the other one does not. */
export interface MeasuredPart {
  readonly settings: Readonly<Record<string, string>>;
  /** Ends what runs beside the service. */
  stop(): Promise<void>;
}

/** The processor time of a request with metrics, compared with the same service without. */
export interface MetricsFigure {
  readonly name: string;
  /** Microseconds of the thread that handles requests, without the database. */
  readonly with: Spread;
  readonly without: Spread;
  readonly ratio: Spread;
}

const AIM = 1.02;
/** Prometheus scrapes every 15 s or more rarely. */
const SCRAPE_MS = 5_000;
const SAMPLE = 100;
const SAMPLE_MS = 50;
const WARM_UP_ROUNDS = 5;

/** Measures what metrics cost: the measured service has `METRICS_PORT` and a scraper. */
export function benchMetrics(options: MetricsOptions): Promise<readonly MetricsFigure[]> {
  return benchPart(options, async () => {
    const port = await freePort();
    const scraping = setInterval(() => void scrape(port), SCRAPE_MS);
    return { settings: { METRICS_PORT: String(port) }, stop: async () => clearInterval(scraping) };
  });
}

/**
 * Measures what a part of the service costs: two services on one database, one of them with the part. Rounds are short and
 * alternate, and processor time is counted in nanoseconds, so that other programs on the machine disturb both sides alike. Linux only.
 */
export function benchPart(
  options: MetricsOptions,
  open: () => Promise<MeasuredPart>,
): Promise<readonly MetricsFigure[]> {
  return inWorkshop(async ({ folder, runs }) => {
    const { accounts, rounds, onProgress } = options;
    const dataDir = folder('metrics');
    onProgress(`A database with ${accounts} accounts`);
    const payers = await makePayers(dataDir, { accounts, workspaces: 1 });
    const transfers = await transferPaths(dataDir);
    const { settings } = runs(await open());
    const measured = runs(await startService(dataDir, { name: 'with', settings }));
    const plain = runs(await startService(dataDir, { name: 'without' }));

    const reading = (paths: readonly string[]) => () => paths.map((path) => ({ path }));
    const loads: Readonly<Record<string, (target: BenchTarget) => readonly autocannon.Request[]>> = {
      'GET /products': reading(['/products']),
      'GET /transfers/{transferId}': reading(transfers),
      'POST /accounts/{accountId}/orders': (target) => [orderRequest(target, payers.accounts)],
    };
    const figures: MetricsFigure[] = [];
    for (const [name, requestsOf] of Object.entries(loads)) {
      onProgress(name);
      const run = (target: BenchTarget) => () => microsPerRequest(target, requestsOf(target), options);
      const sides = { ours: run(measured), control: run(plain) };
      await inPairs(WARM_UP_ROUNDS, sides);
      const pairs = await inPairs(rounds, sides);
      const figure = {
        name,
        with: spreadOf(pairs.map(({ ours }) => ours)),
        without: spreadOf(pairs.map(({ control }) => control)),
        ratio: ratiosOf(pairs, (micros) => micros),
      };
      onProgress(lineOf(figure));
      figures.push(figure);
    }
    return figures;
  });
}

async function transferPaths(dataDir: string): Promise<readonly string[]> {
  await analyzeWorld(dataDir);
  const deployment = await openDeployment({ dataDir, isSandbox: true, prepare: false });
  try {
    return (await sampleTransfers(deployment, SAMPLE)).map((id) => `/transfers/${id}`);
  } finally {
    await deployment.close();
  }
}

/** @throws Error when a response has another status than 200 */
async function microsPerRequest(
  { url, pid, headers }: BenchTarget,
  requests: readonly autocannon.Request[],
  { requests: sent, connections }: MetricsOptions,
): Promise<number> {
  const before = nanosOf(pid);
  const { statusCodeStats } = await autocannon({
    ...{ url, connections, amount: sent, headers, requests },
    sampleInt: SAMPLE_MS,
  });
  const micros = (nanosOf(pid) - before) / 1_000;
  const answered = statusCodeStats['200']?.count ?? 0;
  if (answered !== sent) throw new Error(`${sent - answered} of ${sent} responses were not 200`);
  return micros / sent;
}

/** The time that the main thread of a process has run: proc(5), schedstat. */
const nanosOf = (pid: number): number => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);

async function scrape(port: number): Promise<void> {
  // Refused until the service listens.
  const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
  await response?.arrayBuffer();
}

/** The figures as text. */
export function reportMetrics(figures: readonly MetricsFigure[]): string {
  return ['Processor time of a request in Node, with metrics and without', ...figures.map(lineOf)].join('\n');
}

function lineOf({ name, with: ours, without, ratio: { median, min, max } }: MetricsFigure): string {
  const verdict = median <= AIM ? 'reached' : `missed by ${((median - AIM) * 100).toFixed(1)} %`;
  return (
    `  ${name.padEnd(34)} ${ours.median.toFixed(1)} µs with, ${without.median.toFixed(1)} µs without: ` +
    `${median.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)}), aim ≤ ${AIM}: ${verdict}`
  );
}
