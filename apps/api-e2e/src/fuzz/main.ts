import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { FuzzReport } from './fuzz-requests.js';

const SEED_MAX = 2 ** 31 - 1;

/** Sequences at the same time: enough to keep two cores busy. */
const CLIENTS = 4;
/** As a shell reports SIGINT. */
const INTERRUPTED = 130;

const USAGE = `Usage: npm run fuzz -- [options]

Starts the service with new demo data, and sends random sequences of requests, which it generates from the OpenAPI document. Fails if a
response has a status of 5xx, a status or body that the document does not list, or repeats a value of the request; if the log has an
unhandled error or a value of a request; if banking verify has a finding; or if an operation never succeeded or was never refused.

Options:
  --requests <number>  send at least so many requests (default: 20000)
  --seed <number>      seed of the sequences (default: random)
  --path <path>        run one sequence of the seed only, as a failure prints it
  -h, --help           print this help

Exit codes: 0 success; 1 a failure; 2 wrong usage; 130 interrupted.
`;

interface Options {
  readonly requests: number;
  readonly seed: number;
  readonly path: string | undefined;
}

/** @throws TypeError for an unknown option or an invalid value */
function optionsOf(args: readonly string[]): Options | undefined {
  const text = { type: 'string' } as const;
  const options = { requests: text, seed: text, path: text, help: { type: 'boolean', short: 'h' } } as const;
  const { requests, seed, path, help } = parseArgs({ args: [...args], options }).values;
  if (help) return undefined;
  if (path !== undefined && !/^[0-9]+(:[0-9]+)*$/.test(path)) throw new TypeError('--path has numbers and colons');
  return { requests: whole('--requests', requests, 20_000), seed: whole('--seed', seed, randomInt(SEED_MAX)), path };
}

function whole(name: string, text: string | undefined, usual: number): number {
  if (text === undefined) return usual;
  if (!/^[0-9]{1,10}$/.test(text) || Number(text) > SEED_MAX) throw new TypeError(`${name} is a whole number`);
  return Number(text);
}

async function main(args: readonly string[]): Promise<number> {
  let options: Options | undefined;
  try {
    options = optionsOf(args);
  } catch (error) {
    process.stderr.write(`error: ${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  if (options !== undefined) return run(options);
  process.stdout.write(USAGE);
  return 0;
}

async function run(options: Options): Promise<number> {
  // Loaded here, so that the usage is printed at once.
  const { freshService } = await import('../running-service.js');
  const { fuzzRequests } = await import('./fuzz-requests.js');
  process.stderr.write(`seed ${options.seed}\nStarting the service with new demo data …\n`);
  const service = await freshService({ LOG_LEVEL: 'debug' });
  const interruption = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interruption.abort());
  const startedAt = performance.now();
  const report = await fuzzRequests(service, {
    ...options,
    clients: CLIENTS,
    signal: interruption.signal,
    onProgress: (requests) => process.stderr.write(`${requests} requests\n`),
  });
  const isWhole = options.path === undefined && !interruption.signal.aborted;
  const untried = [...report.outcomes].flatMap(([operation, { succeeded, refused }]) => [
    ...(succeeded === 0 ? [`${operation} never succeeded`] : []),
    ...(refused === 0 ? [`${operation} was never refused`] : []),
  ]);
  const faults = [...report.faults, ...(isWhole ? untried : [])];
  process.stdout.write(
    `${textOf(report)}\n\nseed ${options.seed}, ${Math.round((performance.now() - startedAt) / 1000)} s\n`,
  );
  for (const fault of faults) process.stdout.write(`\n${fault}\n`);
  if (interruption.signal.aborted && faults.length === 0) return INTERRUPTED;
  process.stdout.write(faults.length === 0 ? '\npass\n' : '\nfail\n');
  return faults.length === 0 ? 0 : 1;
}

function textOf({ requests, statuses, outcomes }: FuzzReport): string {
  const share = (count: number) => `${((100 * count) / requests).toFixed(1)} %`;
  const byStatus = [...statuses].sort(([one], [other]) => one - other);
  return [
    `${requests} requests`,
    ...byStatus.map(([status, count]) => `  ${status}  ${String(count).padStart(6)}  ${share(count)}`),
    'Operations: succeeded, refused',
    ...[...outcomes].map(
      ([operation, { succeeded, refused }]) =>
        `  ${operation.padEnd(32)} ${String(succeeded).padStart(6)} ${String(refused).padStart(6)}`,
    ),
  ].join('\n');
}

void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
