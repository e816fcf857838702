import { BankingClient } from '@banking/client';
import type { ApprovalRulesChange, AuditEvent, LimitTerms } from '@banking/domain';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { bind, type Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { openDatabase, until } from '@banking/postgres/testing';
import { DATA } from '../contract/recipients.js';
import type { FreshService } from '../running-service.js';
import { ADA, EVE, GATEWAY } from '../service.js';
import { readExamples } from './read-document.js';

/** Resources that refusals need and the demo data does not have. They have the next ids. */
export const PAID_IN_GEL = 4;
export const EXPIRED_QUOTE = 2;
/** A transaction whose return would exceed the balance limit of its account. */
export const NO_WAY_BACK = 15;
/** Its account as a recipient. */
export const FULL_RECIPIENT = 6;

/** A workspace with as many webhook endpoints as the limit. */
export const FULL_OF_ENDPOINTS = 2;
/** The workspace of Eve, who has as many open invitations as the limit, as the user of a gateway has. */
export const FULL_OF_INVITATIONS = 3;
/** Deliveries of the first webhook endpoint: one that arrived, and one whose event was deleted. */
export const DELIVERED = 2;
export const WITHOUT_EVENT = 3;
/** The first endpoint of the workspace with all endpoints. Nothing is due for it, and it has all pending deliveries of a workspace. */
export const FULL_ENDPOINT = 3;

/** The service accounts that the examples name: their ids follow those of the demo users. Keys have the ids from 1 on. */
const PROGRAM = 8;
/** Service accounts with more valid keys than the limit, and without a role. */
export const FULL_OF_KEYS = PROGRAM + 2;
export const FIRST_OF_FULL = 3;
export const WITHOUT_ROLE = PROGRAM + 3;

const ACT = sqlStatement('act', `select set_config('app.actor_type', 'operator', true)`);
/** The function names `n`, so that it is called for each. */
const ADD_PROGRAMS = sqlStatement(
  'add_programs',
  `select banking.add_service_account($1, u.service_user, 'Program ' || n, null)
   from generate_series(1, 50) n cross join lateral banking.put_service_user($1, null, array[case when n > 0 then 'viewer' end]) u`,
);
const ADD_KEYS = sqlStatement(
  'add_keys',
  `insert into banking.service_account_key (workspace_id, service_account_id, hash)
   select 1, ${FULL_OF_KEYS}, sha256(n::text::bytea) from generate_series(1, 11) n`,
);

const ADD_INVITATIONS = sqlStatement(
  'add_invitations',
  `insert into banking.member (workspace_id, email, roles, code_hash, expires_at, invited_by)
   select $1, format('guest%s.%s@southwind.example', u.id, n), '{viewer}', sha256(format('%s.%s', u.id, n)::bytea), now() + interval '1 day', u.id
   from generate_series(1, 200) n, banking.app_user u where u.email = any($2)`,
);

/** The member whom `makeMore` removes. */
export const REMOVED_MEMBER = 10;

/** The code of the invitation that the examples accept. */
const CODE = 'inv_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwLxKlQ0YfDZo';
const ADD_INVITATION = sqlStatement(
  'add_invitation',
  `insert into banking.member (workspace_id, email, roles, code_hash, expires_at, invited_by)
   values (1, $2, '{viewer}', sha256($1::text::bytea), now() + interval '1 day', 1)`,
);

/** The invitation that the examples accept, whose code the service cannot choose. Of the caller, whose token has that verified e-mail. */
const makeInvitation = (owner: Database): Promise<unknown> =>
  owner.pipeline({ workspaces: [1] }, [bind(ADD_INVITATION, CODE, ADA)]);

/** The same in the database of a running service. */
export async function makeInvitationIn(dataDir: string): Promise<void> {
  const server = await attachEmbeddedServer({ dataDir });
  const owner = await openDatabase({ connection: server.connection, role: OWNER_ROLE });
  try {
    await makeInvitation(owner);
  } finally {
    await owner.end();
    await server.detach();
  }
}

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
  await makeForExamples(url, token);
  await makeProgramsWithoutKeys(url, token);
  await makeInvitation(owner);
  const { members } = new BankingClient({ baseUrl: url, token }).workspace(1);
  const { resource: removed } = await members.invite({ email: 'gone@northwind.example', roles: ['viewer'] });
  await members.remove(removed.id);
  if (removed.id !== REMOVED_MEMBER) throw new Error(`the removed member has another id: ${removed.id}`);
  const workspaces = [1, FULL_OF_ENDPOINTS, FULL_OF_INVITATIONS];
  await owner.pipeline({ workspaces }, [
    bind(ADD_ENDPOINTS, FULL_OF_ENDPOINTS),
    bind(ADD_DELIVERIES),
    bind(ADD_PENDING, FULL_OF_ENDPOINTS),
    bind(ADD_EVENTS),
    bind(ACT),
    bind(ADD_KEYS),
    bind(ADD_PROGRAMS, FULL_OF_ENDPOINTS),
    bind(ADD_INVITATIONS, FULL_OF_INVITATIONS, [EVE, GATEWAY]),
  ] as const);
  const post = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'workspace-id': '1', 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return (await response.json()) as Made;
  };
  await new BankingClient({ baseUrl: url, token }).workspace(1).limits.replace({ version: 0, limits: LIMITS });
  const { code } = await post('/accounts', { productID: Number(product?.id) });
  const recipient = await post('/recipients/internal', { accountCode: code });
  const ids = [recipient.id, Number(quote?.id), ...(await payWithNoWayBack(post))];
  if (ids.join() !== [PAID_IN_GEL, EXPIRED_QUOTE, NO_WAY_BACK, FULL_RECIPIENT].join())
    throw new Error(`the demo data has other ids: ${ids.join()}`);
}

/** The list of the example of `replaceLimits`. */
const LIMITS: readonly LimitTerms[] = [
  { scope: 'account', accountID: 1, metric: 'amount', per: 'order', value: '1000000000', currency: 'USD' },
];

interface Made {
  readonly id: number;
  readonly code: string;
  readonly edges: {
    readonly executions: readonly { readonly edges: { readonly transaction: { readonly id: number } } }[];
  };
}

/** The sandbox never sends a final status for an account number with this ending. */
async function payWithNoWayBack(post: (path: string, body: unknown) => Promise<Made>): Promise<readonly number[]> {
  const account = await post('/accounts', { productID: 1 });
  const fund = (amount: string) => post(`/sandbox/accounts/${account.id}/fundings`, { amount });
  const recipient = await post('/recipients/international?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL', {
    data: { ...DATA, beneficiaryAccountNumber: '50100123459011' },
  });
  await fund('300000');
  const input = { amount: '250000', recipientID: recipient.id, type: 'instant', purposeCode: 'IR002' };
  const { edges } = await post(`/accounts/${account.id}/orders`, input);
  await fund('9007199254690000');
  const full = await post('/recipients/internal', { accountCode: account.code });
  return [edges.executions[0]?.edges.transaction.id ?? 0, full.id];
}

/** Nothing answers there. No event has one of the types, so the worker sends tests only. */
const ENDPOINT = {
  url: 'https://hooks.northwind.example/banking',
  types: ['payout.parked'],
  description: 'Ledger of Northwind',
} as const;

/** What the examples name and the demo data does not have. @throws Error if the ids differ */
export async function makeForExamples(url: string, token: string): Promise<void> {
  await makeEndpoints(url, token);
  await makePrograms(url, token);
}

/** A service account with two keys, and one to delete. @throws Error if the ids differ */
async function makePrograms(url: string, token: string): Promise<void> {
  const { serviceAccounts } = new BankingClient({ baseUrl: url, token }).workspace(1);
  const { resource: first } = await serviceAccounts.create({
    ...{ name: 'Payroll', roles: ['member'], scopes: ['orders:create', 'orders:read'] },
  });
  const keys = [
    await serviceAccounts.keys.create(first.id, { networks: ['203.0.113.0/24'], expiresAt: '2099-11-21T09:00:00Z' }),
    await serviceAccounts.keys.create(first.id),
  ];
  const { resource: second } = await serviceAccounts.create({ name: 'Former payroll', roles: ['viewer'] });
  const ids = [first.id, second.id, ...keys.map(({ resource }) => resource.id)];
  if (ids.join() !== [PROGRAM, PROGRAM + 1, 1, 2].join())
    throw new Error(`service accounts have other ids: ${ids.join()}`);
}

/** @throws Error if the ids differ */
async function makeProgramsWithoutKeys(url: string, token: string): Promise<void> {
  const { serviceAccounts } = new BankingClient({ baseUrl: url, token }).workspace(1);
  const { resource: full } = await serviceAccounts.create({ name: 'Full', roles: ['viewer'] });
  const { resource: none } = await serviceAccounts.create({ name: 'None', roles: ['viewer'] });
  await serviceAccounts.change(none.id, { roles: [] });
  if (full.id !== FULL_OF_KEYS || none.id !== WITHOUT_ROLE)
    throw new Error(`they have other ids: ${full.id}, ${none.id}`);
}

/** The webhook endpoints that the examples name: the first with a test, and a disabled one to delete. @throws Error if the ids differ */
async function makeEndpoints(url: string, token: string): Promise<void> {
  const { webhookEndpoints } = new BankingClient({ baseUrl: url, token }).workspace(1);
  const { resource: first } = await webhookEndpoints.create(ENDPOINT);
  const delivery = await webhookEndpoints.test(first.id);
  const { resource: second } = await webhookEndpoints.create({ ...ENDPOINT, description: 'Former ledger' });
  await webhookEndpoints.change(second.id, { status: 'disabled' });
  const ids = [first.id, second.id, delivery.id];
  if (ids.join() !== '1,2,1') throw new Error(`the webhooks have other ids: ${ids.join()}`);
}

/**
 * Sends the example of rules as the first request of a new sandbox, and places two orders of a member that wait: the first approvals. The
 * rule is for orders above those of the examples, which so need no approval.
 *
 * @throws Error if the ids differ
 */
export async function makeApprovals(url: string, tokenOfAdministrator: string, tokenOfMember: string): Promise<void> {
  const workspaceOf = (token: string) => new BankingClient({ baseUrl: url, token }).workspace(1);
  const { approvalRules, members } = workspaceOf(tokenOfAdministrator);
  const [example] = readExamples()['replaceApprovalRules'] ?? [];
  await approvalRules.replace(example?.body as ApprovalRulesChange);
  // The examples are those of one user, who decides too.
  const ada = (await members.listPage()).items.find(({ email }) => email === ADA);
  await members.change(ada!.id, { roles: ['member', 'approver', 'admin'] });
  const ids: unknown[] = [];
  for (const description of ['A ship', 'Another ship']) {
    const order = { recipientID: 1, amount: '900000000000', type: 'instant', description } as const;
    const { resource } = await workspaceOf(tokenOfMember).orders.place({ accountId: 1, ...order });
    ids.push(resource.approvalID);
  }
  if (ids.join() !== '1,2') throw new Error(`the approvals have other ids: ${ids.join()}`);
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
