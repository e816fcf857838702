import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command } from './command.js';
import { NODE_MAJORS, run } from './run.js';

const { consumer, nodes, service } = run();

/** What a program does once it has both libraries: prints the names they export, and an amount. */
const USE = `
  const names = (library) => Object.keys(library).filter((name) => !/^(default|module\\.exports|__esModule)$/.test(name));
  const { formatAmount, parseTransferAmount, add, toTransferAmount } = domain;
  const sum = add(parseTransferAmount('123450'), parseTransferAmount('50'));
  const secret = 'whsec_' + 'A'.repeat(44);
  const test = { type: 'webhook.test', timestamp: '2026-11-23T12:00:00.000000Z', data: {} };
  const sent = await webhooks.signWebhook(test, secret, { id: 'evt_1_1', timestamp: new Date() });
  console.log(JSON.stringify({
    names: [...names(domain), ...names(client), ...names(session), ...names(webhooks)].sort(),
    shown: formatAmount(sum, 'EUR', 'en'),
    sent: toTransferAmount(sum),
    name: prose.CURRENCY_NAMES.EUR,
    proves: typeof proof.proveExport,
    webhook: (await webhooks.verifyWebhook(sent.headers, sent.body, secret)).type,
    client: typeof new client.BankingClient({ baseUrl: 'http://127.0.0.1', token: 'token' }).apps.list,
  }));
`;

const PROGRAMS = {
  'import.mjs': `import * as domain from '@banking/domain'; import * as client from '@banking/client';
    import * as prose from '@banking/domain/prose'; import * as proof from '@banking/domain/proof';
    import * as session from '@banking/client/session';
    import * as webhooks from '@banking/client/webhooks'; ${USE}`,
  'require.cjs': `(async () => {
    const domain = require('@banking/domain'); const client = require('@banking/client');
    const prose = require('@banking/domain/prose'); const proof = require('@banking/domain/proof');
    const session = require('@banking/client/session');
    const webhooks = require('@banking/client/webhooks'); ${USE}
  })();`,
  'late-import.cjs': `(async () => {
    const domain = await import('@banking/domain'); const client = await import('@banking/client');
    const prose = await import('@banking/domain/prose'); const proof = await import('@banking/domain/proof');
    const session = await import('@banking/client/session');
    const webhooks = await import('@banking/client/webhooks'); ${USE}
  })();`,
};

/** One process that imports and requires: what one copy throws is asked of the other. */
const BOTH = `
  import { createRequire } from 'node:module';
  import * as imported from '@banking/client';
  import * as importedDomain from '@banking/domain';
  import * as importedSession from '@banking/client/session';
  import * as importedWebhooks from '@banking/client/webhooks';
  const require = createRequire(import.meta.url);
  const entries = ['domain', 'client', 'client/session', 'client/webhooks'];
  const required = Object.assign({}, ...entries.map((name) => require('@banking/' + name)));
  const { url, token } = JSON.parse(process.env.SERVICE);
  const copies = [{ ...imported, ...importedDomain, ...importedSession, ...importedWebhooks }, required];

  const thrown = (call) => call().then(() => { throw new Error('not refused'); }, (error) => error);
  const kinds = ['Refusal', 'RemoteRefusal', 'ServiceError', 'ConnectionError', 'OutcomeUnknownError', 'SessionError', 'WebhookVerificationError'];
  const failures = {
    unsent: ({ BankingClient }) => new BankingClient({ baseUrl: url, token }).workspace(0).transfers.get(1),
    refused: ({ BankingClient }) => new BankingClient({ baseUrl: url, token }).workspace(1).transfers.get(999_999),
    proxied: ({ BankingClient }) =>
      new BankingClient({ baseUrl: url, token, fetch: async () => new Response('', { status: 502 }) }).apps.list(),
    aborted: ({ BankingClient }) =>
      new BankingClient({ baseUrl: url, token, fetch: () => Promise.reject(new Error('cut')) }).apps.list(),
    unknown: ({ BankingClient }) =>
      new BankingClient({ baseUrl: url, token, fetch: async () => new Response('', { status: 502 }) })
        .workspace(1).orders.cancel(1, 1),
    signedOut: ({ RefreshTokenSession }) =>
      new RefreshTokenSession({ authUrl: url, store: { read: async () => undefined } }).token(),
    calculated: async ({ parseAmount }) => parseAmount('1.005', 'EUR'),
    forged: ({ verifyWebhook }) => verifyWebhook({}, '{}', 'whsec_' + 'A'.repeat(44)),
  };
  const answers = {};
  for (const [name, failure] of Object.entries(failures)) {
    answers[name] = [];
    for (const [maker, asked] of [copies, copies.toReversed()]) {
      const error = await thrown(() => failure(maker));
      answers[name].push(kinds.filter((kind) => error instanceof asked[kind]).join(' '));
    }
  }
  console.log(JSON.stringify({ separate: kinds.map((kind) => copies[0][kind] !== copies[1][kind]), answers }));
`;

for (const [name, text] of Object.entries({ ...PROGRAMS, 'both.mjs': BOTH })) {
  writeFileSync(join(consumer, name), text);
}

describe.each(NODE_MAJORS)('Node %i', (major) => {
  const node = nodes[major];
  const whereItCanBeHad = node === undefined ? it.skip : it;
  const outputOf = async (program: string, environment = {}) =>
    JSON.parse(await command(node ?? '', [join(consumer, program)], { cwd: consumer, environment })) as unknown;

  whereItCanBeHad('is the expected major version', async () => {
    expect(await command(node ?? '', ['--version'], { cwd: consumer })).toMatch(new RegExp(`^v${major}\\.`));
  });

  whereItCanBeHad('loads the same exports in three ways', async () => {
    const [first, ...others] = await Promise.all(Object.keys(PROGRAMS).map((program) => outputOf(program)));

    expect(first).toMatchObject({ shown: '€1,235.00', sent: '123500', name: 'Euro' });
    expect(first).toMatchObject({ proves: 'function', webhook: 'webhook.test', client: 'function' });
    expect(first).toMatchObject({ names: expect.arrayContaining(['BankingClient', 'Refusal', 'compare']) });
    for (const other of others) expect(other).toEqual(first);
  });

  whereItCanBeHad('recognises errors across the imported and the required copy', async () => {
    const twice = (kinds: string) => [kinds, kinds];

    expect(await outputOf('both.mjs', { SERVICE: JSON.stringify(service) })).toEqual({
      separate: [true, true, true, true, true, true, true],
      answers: {
        unsent: twice('Refusal'),
        refused: twice('Refusal RemoteRefusal'),
        proxied: twice('ServiceError'),
        aborted: twice('ConnectionError'),
        calculated: twice('Refusal'),
        unknown: twice('OutcomeUnknownError'),
        signedOut: twice('SessionError'),
        forged: twice('WebhookVerificationError'),
      },
    });
  });
});
