import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Answer } from './answer.js';
import type { Answering } from './service.js';

/** What a control answers with. */
export interface ControlWish {
  /** Where its database is; it takes the same number of connections as the service. */
  readonly dataDir: string;
  /** Answers by path, sent from memory. */
  readonly answers: Readonly<Record<string, Answer>>;
  /** What the service sends with a transfer. */
  readonly transferHeaders: Answer['headers'];
}

/** What a control passes on. */
export interface ProxyWish {
  /** Where the service behind it answers. */
  readonly upstream: string;
  /** What it sends there. */
  readonly headers: Readonly<Record<string, string>>;
  /** What it sends with every answer. */
  readonly answerHeaders: Answer['headers'];
}

/** A bare Fastify in a process of its own: no access checks and no log, and the very bytes the service sends. */
export const startControl = (wish: ControlWish) => start('control-process.js', wish);

/** A bare Fastify in a process of its own, which asks another one and passes its bytes on unread. */
export const startProxy = (wish: ProxyWish) => start('proxy-process.js', wish);

/** Less than a control, node:http alone: what asks it is what a measurement finds, and not how fast it answers. */
export const startRecorded = (answers: Readonly<Record<string, Answer>>) => start('recorded-process.js', answers);

/** Starts a script of this folder, which says where it answers once it does. */
async function start(script: string, wish: object): Promise<Answering> {
  const child = fork(join(__dirname, script), [JSON.stringify(wish)]);
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
