const USAGE = `Usage: npm start

Starts the service, and with it an embedded PostgreSQL where there is no DATABASE_URL. Ctrl-C stops it.

Options:
  -h, --help  print this help

Configuration, by environment; README.md says what each means:
  HOST, PORT                                               where to listen (127.0.0.1, 3000)
  DATA_DIR                                                 the embedded database and the signing key (.data)
  DATABASE_URL, DATABASE_OWNER_URL                         a PostgreSQL of your own
  DATABASE_POOL_SIZE, DATABASE_NAMED_STATEMENTS            how it is talked to (8, on)
  DATABASE_TLS                                             on; off to connect to another host without proof of who answers
  DEMO_DATA                                                on or off: whether the demo world is made, in a sandbox
  OIDC_ISSUER, OIDC_AUDIENCE, OIDC_TOKEN_TYPE              the identity provider and what its tokens say
  OIDC_BIND_BY_EMAIL                                       on or off: whether a verified e-mail binds a subject to a user
  JWKS_URL, JWKS_FILE                                      its keys, where they are not found by discovery
  LOCAL_TOKENS                                             on or off: tokens of our own on any address
  UPSTREAM_URL, UPSTREAM_TIMEOUT_MS                        another deployment to answer from, without a database (10000)
  UPSTREAM_TOKEN, UPSTREAM_TOKEN_FILE                      our access token there, or the file that holds it
  UPSTREAM_AUTH_URL, UPSTREAM_REFRESH_TOKEN_FILE           or a session: where it is renewed, and the file that holds it
  LOG_LEVEL, LOG_FORMAT                                    info, and pretty or json
  PUBLIC_URL                                               under which address callers reach the service
  DOCS, CORS_ORIGINS                                       the docs page, other origins
  RATE_LIMIT_PER_SECOND, ORDER_LIMIT_PER_MINUTE            limits for a user and for a workspace (50, 60; a sandbox has none)
  OPEN_QUOTES_PER_WORKSPACE                                quotes neither used nor expired (100; a sandbox has no limit)
  CONNECTIONS_PER_ADDRESS                                  connections one address may hold (250)
  SANDBOX                                                  on for demo money, off for real money (on without DATABASE_URL)
  RATES_URL, RATES_MAX_AGE_S                               where rates come from, and how old they may be (3600)
  QUOTE_VALID_S                                            how many seconds a quote holds (300)
  WORKER                                                   on or off: whether payouts and what else is due are done here

Exit codes: 0 stopped as asked; 1 failed; 2 wrong usage or configuration.
`;

/** What to print: on standard error, with exit code 2, when it is about a mistake. */
export interface UsageAnswer {
  readonly text: string;
  readonly isMistake: boolean;
}

/** The answer to a command line: the service takes no arguments, so nothing is started with any. */
export function answerArguments(args: readonly string[]): UsageAnswer | undefined {
  const [first, ...more] = args;
  if (first === undefined) return undefined;
  if ((first === '--help' || first === '-h') && more.length === 0) return { text: USAGE, isMistake: false };
  const unknown = args.find((arg) => arg.startsWith('-') && arg !== '--help' && arg !== '-h');
  const mistake = unknown === undefined ? 'too many arguments' : `unknown option '${unknown}'`;
  return { text: `error: ${mistake}\n\n${USAGE}`, isMistake: true };
}
