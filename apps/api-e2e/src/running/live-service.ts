import { BankingClient } from '@banking/client';
import { bankingWith } from '../banking.js';
import { newDataDir, RunningService } from '../running-service.js';
import { localToken } from '../service.js';

export const MIA = 'mia@harbour.example';

/** The data of a live deployment with one user, one workspace and one account in USD. */
export interface LiveData {
  readonly dataDir: string;
  readonly accountId: number;
  remove(): Promise<void>;
}

/** Provisions the data, because a live deployment has no demo data. */
export async function makeLiveData(): Promise<LiveData> {
  const { path: dataDir, remove } = await newDataDir();
  const settings = { DATA_DIR: dataDir, SANDBOX: 'off' };
  const service = await startLive(dataDir);
  await bankingWith(settings, 'app', 'add', 'Harbour');
  await bankingWith(settings, 'user', 'add', MIA, '--app', 'Harbour');
  await bankingWith(settings, 'workspace', 'add', 'Shipping', '--app', 'Harbour');
  await bankingWith(settings, 'grant', 'add', MIA, '--workspace', '1', '--role', 'admin');
  const client = new BankingClient({ baseUrl: service.url, token: await localToken(dataDir, MIA) });
  const dollar = (await client.products.list()).find(({ edges }) => edges.currency.code === 'USD');
  const { resource } = await client.workspace(1 as never).accounts.open({ productID: dollar!.id });
  await service.stop();
  return { dataDir, accountId: resource.id, remove };
}

export function startLive(
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  return RunningService.start({ dataDir, environment: { SANDBOX: 'off', ...environment } });
}
