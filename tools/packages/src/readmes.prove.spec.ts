import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './consumer.js';
import { type Reader, runExamples } from './readme-examples.js';
import { run } from './run.js';

const { consumer, service } = run();

const READERS: Readonly<Record<string, Reader>> = {
  'README.md': {
    prelude: `const token = ${JSON.stringify(service.token)};`,
    instead: { 'http://127.0.0.1:3000': service.url },
  },
  'libs/client/README.md': {
    prelude: `
      const currentToken = () => Promise.resolve(${JSON.stringify(service.token)});
      const readSecret = (name: 'webhooks') => Promise.resolve('whsec_' + 'A'.repeat(44));

      import { once } from 'node:events';
      import { createServer } from 'node:http';
      const tokens = JSON.stringify({ accessToken: await currentToken(), refreshToken: 'the-next-one', expiresIn: 900 });
      const auth = createServer((_request, response) => response.end(tokens)).listen(0, '127.0.0.1');
      await once(auth, 'listening');
      auth.unref();
      const { port } = auth.address() as { port: number };
      const signIn = () => Promise.resolve('the-first-one');
    `,
    instead: {
      'https://bank.example/banking': service.url,
      "'https://auth.example'": '`http://127.0.0.1:${port}`',
    },
  },
  'libs/domain/README.md': {
    prelude: `
      import { BankingClient } from '@banking/client';
      const banking = new BankingClient(${JSON.stringify({ baseUrl: service.url, token: service.token })});
      const transfer = await banking.workspace(1).transfers.get(26);
      const { account, balance } = transfer.edges;
      if (account === undefined || balance === undefined) throw new Error('the demo transfer has no balance');
    `,
  },
};

describe.each(Object.entries(READERS))('examples of %s', (path, reader) => {
  it('give the documented results', async () => {
    const readme = readFileSync(join(ROOT, path), 'utf8');
    const outputs = await runExamples(readme, path.replaceAll(/\W+/g, '-'), consumer, reader);

    expect(outputs.length).toBeGreaterThan(0);
    const table = (which: 'actual' | 'documented') =>
      outputs.map((output) => `${path}:${output.line} ${output[which]}`);
    expect(table('actual')).toEqual(table('documented'));
  });
});
