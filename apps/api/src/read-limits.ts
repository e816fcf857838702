import type { EnvironmentReader } from '@banking/process';
import { LIMITS } from './http/limits.js';

/** How much callers may do. A limit that is left out is off. */
export interface LimitConfig {
  /** Requests per second for one user in one workspace. */
  readonly rateLimit?: { readonly perSecond: number } | undefined;
  /** Attempts per minute of one workspace to place an order. */
  readonly orderLimit?: { readonly perMinute: number } | undefined;
  /** How many quotes a workspace may have that are neither used nor expired. */
  readonly openQuotesMax?: number | undefined;
  /** How many connections one address may hold. */
  readonly connectionsPerAddress: number;
}

const LIMIT_MAX = 1_000_000;

/** Limits of callers are on by default, but for a sandbox. */
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
