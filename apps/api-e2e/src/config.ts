import { existsSync } from 'node:fs';

/** Under this name the run's setup tells the workers, which inherit the environment, where the service is. */
const PUBLISHED = 'BANKING_E2E_SERVICE';

export function publish(text: string): void {
  process.env[PUBLISHED] = text;
}

/** @throws Error when no setup has run: a spec never guesses a service. */
export function published(): string {
  const text = process.env[PUBLISHED];
  if (!text) throw new Error('no service: run these specs with the jest.config.cjs of this project');
  return text;
}

/** What a child process needs to run at all; nothing that configures the service, or it would not be the one we test. */
export function bareEnvironment(): Record<string, string> {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'SystemRoot'];
  return Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser to test with, or undefined where there is none. */
export function browserPath(): string | undefined {
  return process.env['CHROMIUM_PATH'] || BROWSERS.find((path) => existsSync(path));
}

/** Whether a missing browser is a failure: on a machine whose job it is to check everything. */
export const isCi = (): boolean => process.env['CI'] === 'true';
