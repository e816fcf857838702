import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BankingClient } from '@banking/client';
import type { TransferAmount, WorkspaceId } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { OwnIssuer } from '../identity/own-issuer.js';
import { bankingWith, launch, newDataDir, RunningService, type TestDataDir } from '../running-service.js';

const PAGE = readFileSync(join(__dirname, '../../../../docs/go-live.md'), 'utf8');

/** The blocks of the page in a language. */
const blocksOf = (language: string) =>
  [...PAGE.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, text = '']) => text);

const SUBJECT = 'mia';
const IBAN = /"beneficiaryAccountNumber":"(\w+)"/.exec(PAGE)?.[1] ?? '';

/** With the files of the page, the adapter of the sandbox network as the bank, and an identity provider. */
describe('a live deployment by the page', () => {
  let files: TestDataDir;
  let live: TestDataDir;
  let bank: TestDataDir;
  let issuer: OwnIssuer;
  let adapter: ReturnType<typeof launch>;
  let service: RunningService;
  let command: Readonly<Record<string, string>>;

  beforeAll(async () => {
    [files, live, bank] = await Promise.all([newDataDir(), newDataDir(), newDataDir()]);
    issuer = await OwnIssuer.start();
    const path = (name: string) => join(files.path, name);
    await writeFile(path('bank.token'), 'a-token-of-the-spec\n', { mode: 0o600 });
    const adapterArgs = ['rail', 'adapter', '--port', '0', '--token-file', path('bank.token')];
    adapter = launch('cli', { dataDir: bank.path, environment: { DEMO_DATA: 'off' } }, ...adapterArgs);
    const url = await Promise.race([
      adapter.output.matched(/^Listening at (\S+)/m),
      adapter.ended.then(() => undefined),
    ]);
    if (url === undefined) throw new Error(`the adapter did not start:\n${adapter.output.text}`);
    const [reference = '', rails = ''] = blocksOf('yaml');
    await writeFile(path('reference.yaml'), reference);
    await writeFile(path('rails.yaml'), rails.replace(/url: \S+/, `url: ${url}`));
    const named = { REFERENCE_FILE: path('reference.yaml'), RAILS_FILE: path('rails.yaml') };
    command = { DATA_DIR: live.path, SANDBOX: 'off', OIDC_ISSUER: issuer.issuer, ...named };
    service = await RunningService.start({ dataDir: live.path, environment: command });
  });
  afterAll(async () => {
    await service?.stop();
    adapter?.child.kill('SIGINT');
    await adapter?.ended;
    await issuer?.stop();
    await Promise.all([files, live, bank].map((folder) => folder?.remove()));
  });

  it('pays over the bank, and its books are in order', async () => {
    await bankingWith(command, 'app', 'add', 'Harbour');
    await bankingWith(command, 'workspace', 'add', 'Shipping', '--app', 'Harbour');
    const identity = ['--issuer', issuer.issuer, '--subject', SUBJECT];
    await bankingWith(command, 'user', 'add', 'mia@harbour.example', '--app', 'Harbour', ...identity);
    await bankingWith(command, 'grant', 'add', 'mia@harbour.example', '--workspace', '1', '--role', 'admin');
    const client = new BankingClient({ baseUrl: service.url, token: issuer.token(SUBJECT) });
    const workspace = client.workspace(1 as WorkspaceId);
    const [product] = await client.products.list();
    const { resource: account } = await workspace.accounts.open({ productID: product!.id });
    const data = {
      ...{ beneficiaryName: 'Elbe Werft GmbH', beneficiaryAccountType: 'Corporate', beneficiaryAccountNumber: IBAN },
      ...{ beneficiaryCountryCode: 'DE', destinationCountry: 'DE' },
      ...{ routingCodeType1: 'SWIFT', routingCodeValue1: 'INGDDEFFXXX' },
    };
    const corridor = { countryCode: 'DE', currencyCode: 'EUR', payoutMethod: 'LOCAL' } as const;
    const { resource: payee } = await workspace.recipients.addInternational({ ...corridor, data });
    await bankingWith(command, 'fund', String(account.id), '1250.00');

    // A payment within SEPA needs no purpose code.
    const order = { recipientID: payee.id, amount: '50000' as TransferAmount, type: 'instant' } as const;
    const { resource: placed } = await workspace.orders.place({ accountId: account.id, ...order });

    const [execution] = placed.edges.executions!;
    const { id: transactionId } = execution!.edges.transaction!;
    await until(async () => (await workspace.transactions.get(transactionId)).status === 'completed');
    expect(await bankingWith(command, 'rail', 'status')).toMatch(/^bank-a +0 +0 +0 +0/m);
    expect(await bankingWith(command, 'verify')).toMatch(/The books are in order\.\n$/);
  });
});
