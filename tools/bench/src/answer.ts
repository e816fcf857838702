import type { Answering } from './service.js';

/** An answer of the service, headers and all, but for those that HTTP makes anew each time. */
export interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const MADE_ANEW = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'];
const TRIES_MAX = 5;

/** @throws Error when the answer is no success */
export async function answerOf({ url, headers }: Answering, path: string): Promise<Answer> {
  let answer = await fetch(`${url}${path}`, { headers });
  // On a busy machine a first connection to the database may take longer than anybody waits for it.
  for (let tries = 1; !answer.ok && tries < TRIES_MAX; tries += 1) answer = await fetch(`${url}${path}`, { headers });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  const sent = [...answer.headers].filter(([name]) => !MADE_ANEW.includes(name));
  return { headers: Object.fromEntries(sent), body: await answer.text() };
}
