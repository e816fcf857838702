import { BankingClient } from '@banking/client';
import { bankingWith } from '../banking.js';
import { OwnIssuer } from '../identity/own-issuer.js';
import { newDataDir, RunningService } from '../running-service.js';

const MIA = 'mia@harbour.example';
const SUBJECT = 'mia-1';

/** The data of a live deployment with one user, one workspace and one account in USD, and the identity provider of the user. */
export interface LiveData {
  readonly dataDir: string;
  readonly accountId: number;
  /** A new token of the user. */
  token(): string;
  /** Starts the service on the data. */
  start(environment?: Readonly<Record<string, string>>): Promise<RunningService>;
  remove(): Promise<void>;
}

/**
 * Provisions the data, because a live deployment has no demo data.
 *
 * @param settings of the first start
 */
export async function makeLiveData(settings: Readonly<Record<string, string>> = {}): Promise<LiveData> {
  const { path: dataDir, remove } = await newDataDir();
  const provider = await OwnIssuer.start();
  const token = () => provider.token(SUBJECT);
  const start = (environment: Readonly<Record<string, string>> = {}) =>
    RunningService.start({
      dataDir,
      environment: { SANDBOX: 'off', OIDC_ISSUER: provider.issuer, ...environment },
    });
  const command = { DATA_DIR: dataDir, SANDBOX: 'off' };
  const service = await start(settings);
  await bankingWith(command, 'app', 'add', 'Harbour');
  const identity = ['--issuer', provider.issuer, '--subject', SUBJECT];
  await bankingWith(command, 'user', 'add', MIA, '--app', 'Harbour', ...identity);
  await bankingWith(command, 'workspace', 'add', 'Shipping', '--app', 'Harbour');
  await bankingWith(command, 'grant', 'add', MIA, '--workspace', '1', '--role', 'admin');
  const client = new BankingClient({ baseUrl: service.url, token: token() });
  const dollar = (await client.products.list()).find(({ edges }) => edges.currency.code === 'USD');
  const { resource } = await client.workspace(1 as never).accounts.open({ productID: dollar!.id });
  await service.stop();
  return { dataDir, accountId: resource.id, token, start, remove: () => provider.stop().then(remove) };
}
