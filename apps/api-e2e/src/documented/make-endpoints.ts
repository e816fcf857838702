import { BankingClient } from '@banking/client';

/** Nothing answers there. No event has one of the types, so the worker sends tests only. */
const ENDPOINT = {
  url: 'https://hooks.northwind.example/banking',
  types: ['payout.parked'],
  description: 'Ledger of Northwind',
} as const;

/** The webhook endpoints that the examples name: the first with a test, and a disabled one to delete. @throws Error if the ids differ */
export async function makeEndpoints(url: string, token: string): Promise<void> {
  const { webhookEndpoints } = new BankingClient({ baseUrl: url, token }).workspace(1);
  const { resource: first } = await webhookEndpoints.create(ENDPOINT);
  const delivery = await webhookEndpoints.test(first.id);
  const { resource: second } = await webhookEndpoints.create({ ...ENDPOINT, description: 'Former ledger' });
  await webhookEndpoints.change(second.id, { status: 'disabled' });
  const ids = [first.id, second.id, delivery.id];
  if (ids.join() !== '1,2,1') throw new Error(`the webhooks have other ids: ${ids.join()}`);
}
