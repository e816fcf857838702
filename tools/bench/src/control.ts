import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { RecordedResponse } from './response.js';
import type { BenchTarget } from './service.js';

/** What a control answers with. */
export interface ControlOptions {
  /** Where its database is; it takes the same number of connections as the service. */
  readonly dataDir: string;
  /** Answers by path, sent from memory. */
  readonly answers: Readonly<Record<string, RecordedResponse>>;
  /** What the service sends with a transfer. */
  readonly transferHeaders: RecordedResponse['headers'];
  /** What the service sends with a page of transfers, by limit. */
  readonly pageHeaders?: Readonly<Record<string, RecordedResponse['headers']>>;
}

/** What a control passes on. */
export interface ProxyOptions {
  /** Where the service behind it answers. */
  readonly upstream: string;
  /** What it sends there. */
  readonly headers: Readonly<Record<string, string>>;
  /** What it sends with every answer. */
  readonly answerHeaders: RecordedResponse['headers'];
}

/** A bare Fastify in a process of its own: no access checks and no log, and the very bytes the service sends. */
export const startControl = (options: ControlOptions) => start('control-process.js', options);

/** A bare Fastify in a process of its own, which calls another one and forwards its bytes unread. */
export const startProxy = (options: ProxyOptions) => start('proxy-process.js', options);

/** Less than a control, node:http alone: what asks it is what a measurement finds, and not how fast it answers. */
export const startRecorded = (answers: Readonly<Record<string, RecordedResponse>>) =>
  start('recorded-process.js', answers);

/** Starts a script of this folder, which prints its address when it is ready. */
async function start(script: string, options: object): Promise<BenchTarget> {
  const child = fork(join(__dirname, script));
  // Not as an argument, because some have a token.
  child.send(options);
  const ended = once(child, 'exit');
  const ready = once(child, 'message').then(([url]) => url as string);
  const url = await Promise.race([ready, ended.then(() => undefined)]);
  if (url === undefined) throw new Error(`${script} did not start; what it said stands above`);
  return {
    url,
    pid: child.pid as number,
    headers: {},
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
