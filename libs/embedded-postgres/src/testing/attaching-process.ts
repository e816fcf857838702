import { createInterface } from 'node:readline';
import { attachEmbeddedServer } from '../attach-embedded-server.js';

/** A line of JSON that the program writes. */
export interface ProcessEvent {
  readonly event: 'attached' | 'detached' | 'refused' | 'log';
  readonly text: string;
  readonly started?: boolean;
  readonly host?: string;
}

const report = (event: ProcessEvent) => process.stdout.write(`${JSON.stringify(event)}\n`);

/** A service or a command of the specs: attaches to the server under a folder, and detaches when it reads `detach`. */
async function main([dataDir = '']: string[]): Promise<void> {
  const server = await attachEmbeddedServer({ dataDir, log: (text) => report({ event: 'log', text }) });
  report({ event: 'attached', text: '', started: server.started, host: server.connection.host });
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'detach') break;
  }
  await server.detach();
  report({ event: 'detached', text: '' });
}

// As a service, which completes its start after a signal.
process.on('SIGINT', () => undefined);

main(process.argv.slice(2)).catch((error: Error) => {
  report({ event: 'refused', text: `${error.name}: ${error.message}` });
  process.exitCode = 1;
});
