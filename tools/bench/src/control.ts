import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Answering } from './service.js';

/** An answer of the service, headers and all, but for those that HTTP makes anew each time. */
export interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a control answers with. */
export interface ControlWish {
  /** Where its database is; it takes the same number of connections as the service. */
  readonly dataDir: string;
  /** Answers by path, sent from memory. */
  readonly answers: Readonly<Record<string, Answer>>;
  /** What the service sends with a transfer. */
  readonly transferHeaders: Answer['headers'];
}

/** A bare Fastify in a process of its own: no access checks and no log, and the very bytes the service sends. */
export async function startControl(wish: ControlWish): Promise<Answering> {
  const child = fork(join(__dirname, 'control-process.js'), [JSON.stringify(wish)]);
  const ended = once(child, 'exit');
  const ready = once(child, 'message').then(([url]) => url as string);
  const url = await Promise.race([ready, ended.then(() => undefined)]);
  if (url === undefined) throw new Error('the control did not start; what it said stands above');
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
