import { readSecretFile, SecretFileError } from './secret-file.js';

/** All mistakes in the environment or in a document, each with the change to make. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  /** @param subject what has the mistakes, as the beginning of the message */
  constructor(
    readonly mistakes: readonly string[],
    subject = 'The configuration',
  ) {
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`;
    const shown = mistakes.slice(0, SHOWN_MAX);
    const more = mistakes.length > shown.length ? [`and ${mistakes.length - shown.length} more`] : [];
    super(`${subject} has ${count}:\n${[...shown, ...more].map((mistake) => `  - ${mistake}`).join('\n')}`);
  }
}

/** A message has at most so many mistakes. */
const SHOWN_MAX = 20;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that may hold a secret. Each may come from the file that `<name>_FILE` names. */
const SECRETS: ReadonlySet<string> = new Set([
  'DATABASE_URL',
  'DATABASE_OWNER_URL',
  'DATABASE_REPLICA_URL',
  'RATES_URL',
  'WEBHOOK_KEY',
  'DECISION_SECRET',
]);

/** Typed readers of environment variables. A mistake is added to `mistakes`, and reading continues with the fallback. */
export interface EnvironmentReader {
  readonly mistakes: string[];
  /** The trimmed value, which may come from a file if it is secret; undefined if it is empty or unset. */
  readonly text: (name: string) => string | undefined;
  /** The variable that is set: `name`, or `<name>_FILE` of a secret. Undefined if neither is. */
  readonly given: (name: string) => string | undefined;
  readonly oneOf: (name: string, allowed: readonly string[], fallback: string) => string;
  /** `on` or `off`. */
  readonly flag: (name: string, fallback: boolean) => boolean;
  /** A whole number within both limits; undefined if it is unset or a mistake. */
  readonly whole: (name: string, min: number, max: number) => number | undefined;
  /** A URL of one of these protocols, such as `https:`. The mistake never repeats the value, which may hold a password. */
  readonly url: (name: string, protocols: readonly string[]) => string | undefined;
}

export function readerOf(environment: Environment): EnvironmentReader {
  const mistakes: string[] = [];
  const plain = (name: string) => environment[name]?.trim() || undefined;
  const secret = secretReader(plain, mistakes);
  const text = (name: string) => (SECRETS.has(name) ? secret(name) : plain(name));
  const oneOf = (name: string, allowed: readonly string[], fallback: string) => {
    const value = text(name) ?? fallback;
    if (allowed.includes(value)) return value;
    mistakes.push(`${name} is "${value}". Set one of: ${allowed.join(', ')}.`);
    return fallback;
  };
  return {
    mistakes,
    text,
    given: (name) => [name, ...(SECRETS.has(name) ? [`${name}_FILE`] : [])].find((one) => plain(one) !== undefined),
    oneOf,
    flag: (name, fallback) => oneOf(name, ['on', 'off'], fallback ? 'on' : 'off') === 'on',
    whole(name, min, max) {
      const value = text(name);
      if (value === undefined) return undefined;
      if (/^[0-9]{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value);
      mistakes.push(`${name} is "${value}". Set a whole number from ${min} to ${max}.`);
      return undefined;
    },
    url(name, protocols) {
      const value = text(name);
      if (value === undefined) return undefined;
      if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
      const beginnings = protocols.map((protocol) => `${protocol}//`).join(' or ');
      mistakes.push(`${name} is not a URL that begins with ${beginnings}.`);
      return undefined;
    },
  };
}

/** Reads each secret once, from its variable or its file, so that its mistakes are reported once. */
function secretReader(plain: (name: string) => string | undefined, mistakes: string[]) {
  const read = (name: string): string | undefined => {
    const value = plain(name);
    const path = plain(`${name}_FILE`);
    if (path === undefined) return value;
    if (value !== undefined) {
      mistakes.push(`${name} and ${name}_FILE are both set. Keep one.`);
      return value;
    }
    try {
      return readSecretFile(path).trim();
    } catch (error) {
      if (!(error instanceof SecretFileError)) throw error;
      mistakes.push(`The file that ${name}_FILE names ${error.message}. Correct the path, or the file.`);
      return undefined;
    }
  };
  const values = new Map<string, string | undefined>();
  return (name: string) => {
    if (!values.has(name)) values.set(name, read(name));
    return values.get(name);
  };
}
