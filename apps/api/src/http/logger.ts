import pino, { type Logger } from 'pino';
import type { Config } from '../config.js';

/**
 * One JSON line for an event, or a readable one on a terminal. Only what is named is logged: no header, no query string, no
 * body, so no token and nothing personal. Errors keep their type, message and stack.
 */
export function createLogger({ logLevel, logPretty }: Pick<Config, 'logLevel' | 'logPretty'>): Logger {
  const options = {
    level: logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { req: () => undefined, res: () => undefined },
  };
  if (!logPretty) return pino(options);
  return pino({
    ...options,
    transport: {
      target: 'pino-pretty',
      options: { translateTime: 'SYS:HH:MM:ss', ignore: 'context', singleLine: true },
    },
  });
}
