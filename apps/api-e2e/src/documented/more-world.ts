import { BankingClient } from '@banking/client';
import type { AuditEvent } from '@banking/domain';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { DATA } from '../contract/recipients.js';
import type { FreshService } from '../running-service.js';

/** Resources that refusals need and the demo data does not have. They have the next ids. */
export const PAID_IN_GEL = 4;
export const EXPIRED_QUOTE = 2;
/** A transaction whose return would exceed the balance limit of its account. */
export const NO_WAY_BACK = 15;

/** A workspace with as many webhook endpoints as the limit. */
export const FULL_OF_ENDPOINTS = 2;
/** Deliveries of the first webhook endpoint: one that arrived, and one whose event was deleted. */
export const DELIVERED = 2;
export const WITHOUT_EVENT = 3;
/** The first endpoint of the workspace with all endpoints. Nothing is due for it, and it has all pending deliveries of a workspace. */
export const FULL_ENDPOINT = 3;

/** No product and no demo rate is in lari. */
const SELL_LARI = sqlStatement<{ id: bigint }>(
  'sell_lari',
  `insert into banking.product (id, name, currency_id)
   select max(p.id) + 1, 'Lari', (select id from banking.currency where code = 'GEL') from banking.product p returning id`,
);
/** A quote like that of the demo data, which is valid for a moment. */
const QUOTE_AGAIN = sqlStatement<{ id: bigint }>(
  'quote_again',
  `insert into banking.quote (workspace_id, account_id, currency_id, amount, recipient_id, fee_amount, target_currency_id, target_amount,
     rate, rate_source, rate_as_of, rounding, remainder_numerator, remainder_denominator, expires_at)
   select workspace_id, account_id, currency_id, amount, recipient_id, fee_amount, target_currency_id, target_amount,
     rate, rate_source, rate_as_of, rounding, remainder_numerator, remainder_denominator, statement_timestamp() + interval '1 microsecond'
   from banking.quote where id = 1 returning id`,
);

const ADD_ENDPOINTS = sqlStatement(
  'add_endpoints',
  `insert into banking.webhook_endpoint (workspace_id, url, sealed_secret, cursor_event_id, status, disabled_reason)
   select $1, 'https://hooks.northwind.example', 'sealed', 9007199254740991,
     case n when 1 then 'enabled' else 'disabled' end, case when n > 1 then 'user' end
   from generate_series(1, 20) n`,
);
const ADD_PENDING = sqlStatement(
  'add_pending',
  `insert into banking.webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, next_attempt_at)
   select $1, ${FULL_ENDPOINT}, n, 'payout.parked', 'replay', '2100-01-01T00:00:00Z' from generate_series(1, 20000) n`,
);
const ADD_DELIVERIES = sqlStatement(
  'add_deliveries',
  `insert into banking.webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, status, attempts, last_attempt_at, last_duration_ms)
   select 1, 1, 999999999, 'payout.parked', 'replay', status, 1, statement_timestamp(), 12
   from unnest(array['delivered', 'failed']) with ordinality d (status, position) order by position`,
);
/** More than a replay delivers. */
const ADD_EVENTS = sqlStatement(
  'add_events',
  `insert into banking.event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at, recorded_at)
   select 1, 'quote.created', 'quote', 1000000000 + n, 1, '{}', '{"type": "system"}', t.at, t.at
   from generate_series(1, 10001) n cross join (values (timestamptz '2101-01-01T00:00:00Z')) t (at)`,
);

/** @throws Error if the ids differ */
export async function makeMore(owner: Database, { url }: Pick<FreshService, 'url'>, token: string): Promise<void> {
  const [[product], [quote]] = await owner.pipeline({ workspaces: [1] }, [bind(SELL_LARI), bind(QUOTE_AGAIN)] as const);
  await makeEndpoints(url, token);
  const workspaces = [1, FULL_OF_ENDPOINTS];
  await owner.pipeline({ workspaces }, [
    bind(ADD_ENDPOINTS, FULL_OF_ENDPOINTS),
    bind(ADD_DELIVERIES),
    bind(ADD_PENDING, FULL_OF_ENDPOINTS),
    bind(ADD_EVENTS),
  ] as const);
  const post = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'workspace-id': '1', 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return (await response.json()) as Made;
  };
  const { code } = await post('/accounts', { productID: Number(product?.id) });
  const recipient = await post('/recipients/internal', { accountCode: code });
  const ids = [recipient.id, Number(quote?.id), await payWithNoWayBack(post)];
  if (ids.join() !== [PAID_IN_GEL, EXPIRED_QUOTE, NO_WAY_BACK].join())
    throw new Error(`the demo data has other ids: ${ids.join()}`);
}

interface Made {
  readonly id: number;
  readonly code: string;
  readonly edges: {
    readonly executions: readonly { readonly edges: { readonly transaction: { readonly id: number } } }[];
  };
}

/** The sandbox never sends a final status for an account number with this ending. */
async function payWithNoWayBack(post: (path: string, body: unknown) => Promise<Made>): Promise<number> {
  const account = await post('/accounts', { productID: 1 });
  const fund = (amount: string) => post(`/sandbox/accounts/${account.id}/fundings`, { amount });
  const recipient = await post('/recipients/international?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL', {
    data: { ...DATA, beneficiaryAccountNumber: '50100123459011' },
  });
  await fund('300000');
  const input = { amount: '250000', recipientID: recipient.id, type: 'instant', purposeCode: 'IR002' };
  const { edges } = await post(`/accounts/${account.id}/orders`, input);
  await fund('9007199254690000');
  return edges.executions[0]?.edges.transaction.id ?? 0;
}

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

/**
 * Waits for an entry of an operation in the audit trail of the first workspace.
 *
 * @param actorType the type of its actor. Default: any
 * @returns the newest such entry
 * @throws Error if there is none in time
 */
export async function untilAudited(
  url: string,
  token: string,
  operation: string,
  actorType?: string,
): Promise<AuditEvent> {
  const { auditEvents } = new BankingClient({ baseUrl: url, token }).workspace(1);
  const event = await until(async () => {
    const { items } = await auditEvents.listPage({ operation });
    return items.find(({ actor }) => actorType === undefined || actor.type === actorType);
  });
  return event!;
}
