import { parseArgs } from 'node:util';
import { freshService } from '../running-service.js';
import { bugsIn } from '../log-lines.js';
import { ADA } from '../service.js';
import { exhaustPool, measure, type Measured, SCENARIOS } from './scenarios.js';

const SECONDS = 60;
const SECONDS_MAX = 3_600;

const USAGE = `Usage: npm run sockets -- [options]

Starts the service with new demo data, and opens many sockets that misuse it: slow heads, slow bodies, slow readers and 10,000 idle
sockets, from many loopback addresses. Meanwhile a healthy client reads, and its latency is compared with that before. Then a lock holds
all database connections, and 500 requests arrive. Prints a table. Needs Linux.

Options:
  --seconds <number>  time of each scenario (default: ${SECONDS})
  -h, --help          print this help

Exit codes: 0 every figure is within its limit; 1 a figure is not, or the service logged an error; 2 wrong usage.
`;

/** @throws TypeError for an unknown option or an invalid value */
function secondsOf(args: readonly string[]): number | undefined {
  const options = { seconds: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return undefined;
  const seconds = values.seconds ?? String(SECONDS);
  if (!/^[1-9][0-9]{0,3}$/.test(seconds) || Number(seconds) > SECONDS_MAX) {
    throw new TypeError(`--seconds is a whole number from 1 to ${SECONDS_MAX}`);
  }
  return Number(seconds);
}

async function main(args: readonly string[]): Promise<number> {
  let seconds: number | undefined;
  try {
    seconds = secondsOf(args);
  } catch (error) {
    process.stderr.write(`error: ${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  if (seconds === undefined) {
    process.stdout.write(USAGE);
    return 0;
  }
  return run(seconds);
}

async function run(seconds: number): Promise<number> {
  process.stderr.write('Starting the service with new demo data …\n');
  // The limits of a deployment: specs raise the limit of an address, because all their clients have one.
  const service = await freshService({ CONNECTIONS_PER_ADDRESS: '250' });
  const rows: Measured[] = [];
  try {
    const authorization = `Bearer ${await service.tokenOf(ADA)}`;
    for (const scenario of SCENARIOS) {
      process.stderr.write(`${scenario.name} …\n`);
      rows.push(...(await measure(scenario, { url: service.url, authorization, ms: seconds * 1_000 })));
    }
    process.stderr.write('exhausted pool …\n');
    if (service.pid !== undefined) rows.push(...(await exhaustPool(service, authorization, service.pid)));
  } finally {
    await service.stop();
  }
  const errors = bugsIn(service.log);
  process.stdout.write(`${tableOf(rows)}\n`);
  for (const line of errors) process.stdout.write(`${line}\n`);
  return errors.length === 0 && rows.every(({ isMet }) => isMet) ? 0 : 1;
}

function tableOf(rows: readonly Measured[]): string {
  const lines = rows.map(
    ({ what, figure, limit, isMet }) => `| ${what} | ${figure} | ${limit} | ${isMet ? 'met' : 'not met'} |`,
  );
  return ['| Case | Measured | Limit | |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
