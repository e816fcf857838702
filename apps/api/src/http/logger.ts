import pino, { type Logger } from 'pino';
import { describeError } from '@banking/process';
import type { Config } from '../config.js';

let writtenAtMs = 0;
let writtenAs = '';

/** As pino's own; under load many lines share a millisecond, and writing it out is much of a line. */
function isoTime(): string {
  const nowMs = Date.now();
  if (nowMs !== writtenAtMs) {
    writtenAtMs = nowMs;
    writtenAs = `,"time":"${new Date(nowMs).toISOString()}"`;
  }
  return writtenAs;
}

/**
 * One JSON line for an event, or a readable one on a terminal. Only what is named is logged: no header, no query string, no
 * body, so no token and nothing personal.
 */
export const loggerOptions = (level: string) => ({
  level,
  base: null,
  timestamp: isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
  serializers: { req: () => undefined, res: () => undefined, err: (thrown: unknown): object => describeError(thrown) },
});

/**
 * Lines leave together: a write for each was a fifth of a reference read. Those that wait are written when the process ends, unless
 * a kill -9 ends it.
 */
const LINES_TOGETHER = { sync: false, minLength: 4096, periodicFlush: 100 };

export function createLogger({ logLevel, logPretty }: Pick<Config, 'logLevel' | 'logPretty'>): Logger {
  const options = loggerOptions(logLevel);
  if (!logPretty) return pino(options, pino.destination(LINES_TOGETHER));
  return pino({
    ...options,
    transport: {
      target: 'pino-pretty',
      options: { translateTime: 'SYS:HH:MM:ss', ignore: 'context', singleLine: true },
    },
  });
}
