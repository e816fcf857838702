import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RecordedResponse } from './response.js';

/** Gives recorded answers by path, from memory, and looks at nothing else of a request. */
function main(answers: Readonly<Record<string, RecordedResponse>>): void {
  const prepared = new Map(
    Object.entries(answers).map(([path, { headers, body }]) => {
      const bytes = Buffer.from(body);
      return [path, { bytes, headers: { ...headers, 'content-length': bytes.byteLength } }];
    }),
  );
  const server = createServer((request, response) => {
    const answer = prepared.get(request.url ?? '');
    if (answer) response.writeHead(200, answer.headers).end(answer.bytes);
    else response.writeHead(404).end();
  });
  process.once('SIGTERM', () => server.close(() => process.exit(0)).closeAllConnections());
  server.listen(0, '127.0.0.1', () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
}

process.once('message', (answers) => main(answers as Readonly<Record<string, RecordedResponse>>));
