/** All mistakes in the environment, each with the change to make. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly mistakes: readonly string[]) {
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`;
    super(`The configuration has ${count}:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`);
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Typed readers of environment variables. A mistake is added to `mistakes`, and reading continues with the fallback. */
export interface EnvironmentReader {
  readonly mistakes: string[];
  /** The trimmed value; undefined if it is empty or unset. */
  readonly text: (name: string) => string | undefined;
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
  const text = (name: string) => environment[name]?.trim() || undefined;
  const oneOf = (name: string, allowed: readonly string[], fallback: string) => {
    const value = text(name) ?? fallback;
    if (allowed.includes(value)) return value;
    mistakes.push(`${name} is "${value}". Set one of: ${allowed.join(', ')}.`);
    return fallback;
  };
  return {
    mistakes,
    text,
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
