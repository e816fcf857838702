import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contract } from '../contract/contract.js';
import { bankingWith, launch, newDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { type DemoIds, localToken, startedLater } from '../service.js';

/** Of the corridors of the demo data. Each number is one that a bank in a folder takes. */
const CURRENCIES = ['AUD', 'BRL', 'CAD', 'CHF', 'EUR', 'GBP', 'INR', 'JPY', 'MXN', 'NZD', 'PHP', 'SGD', 'USD', 'ZAR'];
const ACCOUNTS = CURRENCIES.map(
  (currency) =>
    `      - { currency: ${currency}, iban: DE89370400440532013000, bic: COBADEFFXXX, holder: Harbour Ltd }`,
).join('\n');

interface Bank {
  readonly name: string;
  /** Starts what plays the bank. Returns its process and the settings of the rail. */
  start(
    folder: string,
    dataDir: string,
  ): Promise<{ readonly process: ReturnType<typeof launch>; readonly rail: string }>;
}

const ADAPTER: Bank = {
  name: 'a bank adapter',
  async start(folder, dataDir) {
    const token = join(folder, 'bank.token');
    await writeFile(token, 'a-token-of-the-spec\n', { mode: 0o600 });
    const args = ['rail', 'adapter', '--port', '0', '--token-file', token];
    const adapter = launch('cli', { dataDir, environment: { DEMO_DATA: 'off' } }, ...args);
    const url = await adapter.output.matched(/^Listening at (\S+)/m);
    return { process: adapter, rail: `    kind: http\n    url: ${url}\n    tokenFile: bank.token\n` };
  },
};

const FILES: Bank = {
  name: 'files of a bank',
  async start(folder, dataDir) {
    const bank = launch(
      'cli',
      { dataDir },
      'bank',
      join(folder, 'bank'),
      '--delay',
      '200ms',
      '--opening',
      '1000000000.00',
    );
    await bank.output.matched(/bank/);
    return { process: bank, rail: '    kind: iso20022\n    folder: bank\n    closeAfterSeconds: 0\n' };
  },
};

describe.each([ADAPTER, FILES])('payments over $name', ({ start }) => {
  let folder: TestDataDir;
  let data: TestDataDir;
  let bankData: TestDataDir;
  let bank: ReturnType<typeof launch>;
  let running: RunningService;
  let world: DemoIds;

  beforeAll(async () => {
    [folder, data, bankData] = await Promise.all([newDataDir(), newDataDir(), newDataDir()]);
    const started = await start(folder.path, bankData.path);
    bank = started.process;
    const file = join(folder.path, 'rails.yaml');
    await writeFile(file, `rails:\n  - name: bank\n${started.rail}    testMode: true\n    accounts:\n${ACCOUNTS}\n`);
    running = await RunningService.start({ dataDir: data.path, environment: { RAILS_FILE: file } });
    world = JSON.parse(await bankingWith({ DATA_DIR: data.path, RAILS_FILE: file }, 'demo', '--json')) as DemoIds;
  }, 240_000);
  afterAll(async () => {
    await running?.stop();
    bank?.child.kill('SIGINT');
    await bank?.ended;
    await Promise.all([folder, data, bankData].map((one) => one?.remove()));
  });

  contract('the service', () =>
    startedLater(() => ({ url: running.url, world, tokenOf: (email) => localToken(data.path, email) })),
  );
});
