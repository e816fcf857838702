import { existsSync } from 'node:fs';

/** The variable by which the setup gives the address of the service to the workers, which inherit the environment. */
const PUBLISHED = 'BANKING_E2E_SERVICE';

export function publish(text: string): void {
  process.env[PUBLISHED] = text;
}

/** @throws Error if no setup has run, because a spec must not guess a service */
export function published(): string {
  const text = process.env[PUBLISHED];
  if (!text) throw new Error('no service: run these specs with the jest.config.cjs of this project');
  return text;
}

/** The variables that a child process needs. Variables that configure the service are omitted, so that each spec sets its own. */
export function bareEnvironment(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'SystemRoot'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** The database of the service of the run on another server, as `npm run versions` sets it; undefined for the embedded one. */
export const externalDatabase = (): string | undefined => process.env['BANKING_E2E_DATABASE_URL'] || undefined;

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of the tests, or undefined if none is installed. */
export function browserPath(): string | undefined {
  return process.env['CHROMIUM_PATH'] || BROWSERS.find((path) => existsSync(path));
}

/** Whether a missing browser is a failure. It is one in CI, which must run every test. */
export const isCi = (): boolean => process.env['CI'] === 'true';

/** The variables by which a spec tells `isolation/without-filters.ts`, in the process of a service, which statements it changes. */
export const FILTER_SETTINGS = {
  keeps: 'BANKING_E2E_FILTER_KEEPS',
  logFile: 'BANKING_E2E_FILTER_LOG',
} as const;

/** @throws Error if the file for the names of the statements is not set */
export function filterSettings(): {
  /** The statements that are not changed. */
  readonly keeps: readonly string[];
  /** Receives the name of each statement that a connection prepares. */
  readonly logFile: string;
} {
  const { keeps, logFile } = FILTER_SETTINGS;
  const file = process.env[logFile];
  if (!file) throw new Error(`${logFile} is not set`);
  return { keeps: (process.env[keeps] ?? '').split(','), logFile: file };
}
