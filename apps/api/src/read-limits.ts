import type { EnvironmentReader } from '@banking/process';
import { LIMITS } from './http/limits.js';

/** The limits of callers. A limit that is undefined is off. */
export abstract class LimitConfig {
  /** Requests per second of one user in one workspace. */
  abstract readonly rateLimit?: { readonly perSecond: number } | undefined;
  /** Attempts per minute of one workspace to place an order. */
  abstract readonly orderLimit?: { readonly perMinute: number } | undefined;
  /** Quotes of one workspace that are neither used nor expired. */
  abstract readonly openQuotesMax?: number | undefined;
  /** Open connections of one address. */
  abstract readonly connectionsPerAddress: number;
}

const LIMIT_MAX = 1_000_000;

/** Reads the limits of callers. They are on by default, except in a sandbox. */
export function readLimits({ text, whole, mistakes }: EnvironmentReader, sandbox: boolean): LimitConfig {
  const limit = (name: string, usual: number): number | undefined => {
    const value = text(name);
    if (value === undefined) return sandbox ? undefined : usual;
    if (value === '0' || value === 'off') return undefined;
    if (/^[0-9]{1,7}$/.test(value) && Number(value) <= LIMIT_MAX) return Number(value);
    mistakes.push(`${name} is "${value}". Set a whole number from 1 to ${LIMIT_MAX}, or off for no limit.`);
    return undefined;
  };
  const perSecond = limit('RATE_LIMIT_PER_SECOND', 50);
  const perMinute = limit('ORDER_LIMIT_PER_MINUTE', 60);
  return {
    rateLimit: perSecond === undefined ? undefined : { perSecond },
    orderLimit: perMinute === undefined ? undefined : { perMinute },
    openQuotesMax: limit('OPEN_QUOTES_PER_WORKSPACE', 100),
    connectionsPerAddress: whole('CONNECTIONS_PER_ADDRESS', 1, LIMITS.connections) ?? LIMITS.connections / 4,
  };
}
