import { BankingClient } from '@banking/client';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';

/** Requests for quotes by Ada, who pays from the accounts of Northwind Trading. */
export function quoteRequests(service: Service) {
  const workspace = () => idOf(service.world, 'workspaces', 'Northwind Trading');
  const account = (name: string) => idOf(service.world, 'accounts', name);
  const usd = () => account('Northwind Trading USD');
  const recipient = () => idOf(service.world, 'recipients', 'international');
  const client = (as = ADA) => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(as) });
  const view = () => client().workspace(workspace());
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    sendRequest(service, '/quotes', { as: ADA, workspace: workspace(), body, headers });
  const toRavi = (part: object = {}) => ({ accountID: usd(), recipientID: recipient(), amount: '250000', ...part });
  const inCurrency = (targetCurrency: unknown, part: object = {}) => ({
    accountID: usd(),
    targetCurrency,
    amount: '250000',
    ...part,
  });
  return { account, usd, recipient, client, view, send, toRavi, inCurrency };
}
