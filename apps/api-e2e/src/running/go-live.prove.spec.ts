import { readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BankingClient } from '@banking/client';
import type { TransferAmount, WorkspaceId } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { OwnIssuer } from '../identity/own-issuer.js';
import { bankingWith, launch, newDataDir, RunningService, type TestDataDir, twoOperators } from '../running-service.js';

const PAGE = readFileSync(join(__dirname, '../../../../docs/go-live.md'), 'utf8');

/** The blocks of the page in a language. */
const blocksOf = (language: string) =>
  [...PAGE.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, text = '']) => text);

const SUBJECT = 'mia';
const IBAN = /"beneficiaryAccountNumber":"(\w+)"/.exec(PAGE)?.[1] ?? '';

/** With the files of the page, the bank in a folder, and an identity provider. */
describe('a live deployment by the page', () => {
  let files: TestDataDir;
  let live: TestDataDir;
  let issuer: OwnIssuer;
  let bank: ReturnType<typeof launch>;
  let service: RunningService;
  let command: Readonly<Record<string, string>>;
  let path: (name: string) => string;

  beforeAll(async () => {
    [files, live] = await Promise.all([newDataDir(), newDataDir()]);
    issuer = await OwnIssuer.start();
    path = (name) => join(files.path, name);
    bank = launch('cli', { dataDir: live.path }, 'bank', path('bank-files'), '--delay', '100ms');
    const isReady = await Promise.race([bank.output.matched(/bank-files/), bank.ended.then(() => undefined)]);
    if (isReady === undefined) throw new Error(`the bank did not start:\n${bank.output.text}`);
    const [reference = '', rails = ''] = blocksOf('yaml');
    await writeFile(path('reference.yaml'), reference);
    await writeFile(path('rails.yaml'), rails.replace('closeAfterSeconds: 5', 'closeAfterSeconds: 0'));
    const named = { REFERENCE_FILE: path('reference.yaml'), RAILS_FILE: path('rails.yaml') };
    command = { DATA_DIR: live.path, SANDBOX: 'off', OIDC_ISSUER: issuer.issuer, ...named };
    service = await RunningService.start({ dataDir: live.path, environment: command });
  });
  afterAll(async () => {
    await service?.stop();
    bank?.child.kill('SIGINT');
    await bank?.ended;
    await issuer?.stop();
    await Promise.all([files, live].map((folder) => folder?.remove()));
  });

  const askBank = (...args: string[]) => bankingWith(command, 'bank', path('bank-files'), ...args);

  it('takes money in, pays over the files of a bank, and agrees with its statement', async () => {
    await bankingWith(command, 'app', 'add', 'Harbour');
    await bankingWith(command, 'workspace', 'add', 'Shipping', '--app', 'Harbour');
    const identity = ['--issuer', issuer.issuer, '--subject', SUBJECT];
    await bankingWith(command, 'user', 'add', 'mia@harbour.example', '--app', 'Harbour', ...identity);
    await bankingWith(command, 'grant', 'add', 'mia@harbour.example', '--workspace', '1', '--role', 'admin', 'member');
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

    // The bank knows an account once it has seen it.
    const [details] = await workspace.accounts.receivingDetails(account.id);
    await askBank('--pay', '1250.00', '--to', details!.iban!, '--reference', details!.reference);
    await until(async () => (await workspace.accounts.get(account.id)).edges.balances[0]?.amount === 125_000);
    expect((await workspace.deposits.listPage()).items).toMatchObject([{ status: 'booked', amount: '125000' }]);

    // A payment within SEPA needs no purpose code.
    const order = { recipientID: payee.id, amount: '50000' as TransferAmount, type: 'instant' } as const;
    const { resource: placed } = await workspace.orders.place({ accountId: account.id, ...order });
    const [execution] = placed.edges.executions!;
    const { id: transactionId } = execution!.edges.transaction!;
    await until(async () => (await workspace.transactions.get(transactionId)).status === 'completed');

    await askBank('--statement');
    await until(async () => (await readdir(path('bank-files/done'))).some((name) => name.includes('camt.053')));
    expect(await bankingWith(command, 'reconcile')).toMatch(/bank-a +DE89370400440532013000 +EUR/);
    expect(await bankingWith(command, 'rail', 'status')).toMatch(/^bank-a +0 +0 +0 +0/m);

    // Money that no statement has, by two operators.
    const byTwo = await twoOperators(command);
    const [requested, done] = await byTwo('fund', String(account.id), '10.00', '--key', 'capital-1');
    expect(requested).toContain(`  banking fund ${account.id} 10.00 --key capital-1 --approve `);
    expect(done).toMatch(/^Request \d+ of lena, .+\nBooked: transfer \d+, 10\.00 EUR on account 1 /);
    await until(async () => (await workspace.auditEvents.listPage({ operation: 'fundAccount' })).items.length > 0);
    expect((await workspace.auditEvents.listPage({ operation: 'fundAccount' })).items).toMatchObject([
      { actor: { type: 'operator', name: 'omar', requestedBy: 'lena' } },
    ]);
    expect(await bankingWith(command, 'verify')).toMatch(/The books are in order\.\n$/);
  });
});
