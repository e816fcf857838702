const USAGE = `Usage: npm run worker

Does what is due in a deployment, runs of orders and payouts, until it is stopped. As many may run as are wanted, beside the service
with WORKER=off or beside each other. Ctrl-C stops it; what is being done is done first.

Options:
  -h, --help  print this help

Configuration, by environment; README.md says what each means:
  DATABASE_URL                                   a PostgreSQL of your own
  DATABASE_POOL_SIZE, DATABASE_NAMED_STATEMENTS  how it is talked to (8, on)
  DATABASE_TLS                                   on; off to connect to another host without proof of who answers
  DATA_DIR                                       the embedded database, where there is no DATABASE_URL (.data)
  SANDBOX                                        on for demo money, off for real money (on without DATABASE_URL)
  DATABASE_OWNER_URL, DEMO_DATA                  read as by the service, and not used here
  RATES_URL, RATES_MAX_AGE_S                     rates for orders that run later (unset: demo rates in a sandbox, else none)
  HEALTH_PORT, HEALTH_HOST                       where GET /health/live and /health/ready are served (unset: nowhere; 127.0.0.1)

Exit codes: 0 stopped as asked; 1 failed; 2 wrong usage or configuration.
`;

/** What to print: on standard error, with exit code 2, when it is about a mistake. */
export interface UsageAnswer {
  readonly text: string;
  readonly isMistake: boolean;
}

/** The answer to a command line: the worker takes no arguments, so nothing is started with any. */
export function answerArguments(args: readonly string[]): UsageAnswer | undefined {
  const [first, ...more] = args;
  if (first === undefined) return undefined;
  if ((first === '--help' || first === '-h') && more.length === 0) return { text: USAGE, isMistake: false };
  const unknown = args.find((arg) => arg.startsWith('-') && arg !== '--help' && arg !== '-h');
  const mistake = unknown === undefined ? 'too many arguments' : `unknown option '${unknown}'`;
  return { text: `error: ${mistake}\n\n${USAGE}`, isMistake: true };
}
