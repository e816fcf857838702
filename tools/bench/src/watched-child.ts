import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Mark } from './growth.js';

/** What node is started with, and with a channel to us, where its heap is to be watched. */
export const WATCHED = ['--expose-gc', '--require', join(__dirname, 'heap-watch.js')];

/** The heap of such a process after a garbage collection. */
export const heldBy = (child: ChildProcess) => told<Omit<Mark, 'asked'>>(child, 'held');

/** Tells a process something, and waits for what it says to it. @throws Error when it ends instead */
export async function told<T>(child: ChildProcess, message: number | string): Promise<T> {
  const said = once(child, 'message').then(([response]) => response as T);
  const ended = once(child, 'exit').then(() => undefined);
  child.send(message);
  const response = await Promise.race([said, ended]);
  if (response === undefined) throw new Error('a process that is watched has ended; what it said stands above');
  return response;
}
