import { createInterface } from 'node:readline';
import { joinEmbeddedServer } from '../join-embedded-server.js';

/**
 * A program that joins the server under the folder it is given, says so in lines of JSON, and leaves
 * when it reads `leave`. It stands for a service or a command in the specs.
 */
export interface Said {
  readonly event: 'joined' | 'left' | 'refused' | 'log';
  readonly text: string;
  readonly started?: boolean;
  readonly host?: string;
}

const say = (said: Said) => process.stdout.write(`${JSON.stringify(said)}\n`);

async function main([dataDir = '']: string[]): Promise<void> {
  const server = await joinEmbeddedServer({ dataDir, log: (text) => say({ event: 'log', text }) });
  say({ event: 'joined', text: '', started: server.started, host: server.connection.host });
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'leave') break;
  }
  await server.leave();
  say({ event: 'left', text: '' });
}

main(process.argv.slice(2)).catch((error: Error) => {
  say({ event: 'refused', text: `${error.name}: ${error.message}` });
  process.exitCode = 1;
});
