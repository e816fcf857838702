import {
  type AccountId,
  type ApprovalId,
  KEY_ISSUER,
  type MemberId,
  type Order,
  type RecipientId,
  type RoleName,
  type ServiceAccountId,
  type TransferAmount,
  type UserId,
} from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { openDatabase } from '@banking/postgres/testing';
import { Worker } from '@banking/work-queue';
import { LedgerDirectory } from '../apps/directory.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { findGaps } from '../provisioning/find-gaps.js';
import { TERMS } from '../testing/event-world.js';
import { type Member, orderWorld, type OrderWorld } from '../testing/order-world.js';
import { tablesReadMuch } from '../testing/rows-read.js';
import { workOf } from '../worker/start-banking-worker.js';

/** The tables with a row, or a few, of each member, each role or each key. */
const TABLES = [
  ...['app_membership', 'app_user', 'member', 'user_identity', 'workspace_role'],
  ...['service_account', 'service_account_key'],
];
/** Of each of these roles, and of the keys: more rows than an operation may read. */
const MANY = 2_500;
const ROLES: readonly RoleName[] = ['viewer', 'approver', 'admin'];
/** PostgreSQL plans a statement for its values five times, and may then plan it once for all. */
const TIMES = 6;
const SUBJECT = { issuer: 'urn:many', subject: 'viewer-1@many.example' };
const small = '500' as TransferAmount;
/** More than an order may have without approvals. */
const large = '2000' as TransferAmount;
const RULES = [
  { operations: 'orders', approvals: 1, roles: ['approver'], amountAbove: [{ currencyCode: 'USD', amount: '1000' }] },
  { operations: 'endpoints', approvals: 2, roles: ['approver', 'admin'] },
] as const;

let at: OrderWorld;
let database: Database;
let service: LedgerBankingService;
let accountId: AccountId;
let recipientID: RecipientId;
let dana: Member;
let program: Member;
let serviceAccountId: ServiceAccountId;
let keyId: number;
let work: () => Promise<void>;
let names = 0;
const errors: unknown[] = [];

beforeAll(async () => {
  at = await orderWorld();
  const { owner, demo } = at.world;
  const { workspaceId } = at.ada;
  dana = { workspaceId, actor: demo.users['dana@northwind.example'] as UserId };
  await openService();
  accountId = await at.account(1, '1000000');
  recipientID = await at.near(await at.account(1, '0'));
  const [payroll, former] = [await addServiceAccount(), await addServiceAccount()];
  serviceAccountId = payroll.id;
  program = { workspaceId, actor: payroll.id as number as UserId };
  keyId = (await addKey(payroll.id)).id;
  await addKey(former.id);
  await service.replaceApprovalRules(at.ada, { version: 0, rules: RULES });

  await owner.query('set session_replication_role = replica');
  for (const role of ROLES) await owner.query(ADD_MEMBERS, [workspaceId, role, MANY]);
  await owner.query(
    `insert into service_account_key (workspace_id, service_account_id, hash, created_by, expires_at)
     select workspace_id, service_account_id, hash, 1000000 + n, now() from service_account_key, generate_series(1, $1) n
     where service_account_id = $2`,
    [MANY, former.id],
  );
  await owner.query('reset session_replication_role');
  await owner.query('analyze');
  // What this session has read is not counted later.
  await owner.query('select pg_stat_force_next_flush()');
  // The session ends with its plans for small tables.
  await database.end();
  await openService();
});

const addServiceAccount = async () =>
  (await service.createServiceAccount(at.ada, { name: `Program ${(names += 1)}`, roles: ['member'] })).resource;

const addKey = async (of: ServiceAccountId) =>
  (await service.createServiceAccountKey(at.ada, { serviceAccountId: of })).resource;

/** Users of the app with a role in the workspace, each recognised by a subject. */
const ADD_MEMBERS = `
  with made as (
    insert into app_user (email) select format('%s-%s@many.example', $2::text, n) from generate_series(1, $3::int) n
    returning id, email),
  joined as (insert into app_membership (app_id, user_id) select w.app_id, u.id from workspace w, made u where w.id = $1),
  granted as (insert into workspace_role (workspace_id, user_id, role) select $1, id, $2 from made),
  known as (insert into user_identity (issuer, subject, user_id) select 'urn:many', email, id from made)
  insert into member (workspace_id, user_id) select $1, id from made`;

/** On one session, which states what it has read when it is asked to. */
async function openService(): Promise<void> {
  database = await openDatabase({ connection: at.world.connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
  const books = openBooks(database);
  service = new LedgerBankingService(database, books, { rails: SANDBOX_ROUTING }, true, undefined, TERMS);
  const onError = (error: unknown) => errors.push(error);
  const parts = { orders: service.orders, approvals: service, rails: sandboxRails, onError };
  // Chores read whole workspaces, a part at a time.
  const worker = new Worker({ ...workOf({ database, books }, parts), chores: [] });
  work = async () => {
    while ((await worker.step()) > 0);
    expect(errors).toEqual([]);
  };
}

afterAll(async () => {
  await database.end();
  await at.world.close();
});

const place = async (by: Member, amount: TransferAmount): Promise<Order> =>
  (await service.placeOrder(by, at.order(accountId, recipientID, { amount }), at.key())).resource;

/** The member who was added last. */
async function latest(): Promise<MemberId> {
  const { items } = await service.listMembers(at.ada, { limit: 1 });
  return items[0]!.id;
}

async function approve({ approvalID }: Order): Promise<void> {
  await service.decideApproval(dana, { approvalId: approvalID as ApprovalId, decision: 'approve', version: 1 });
  await work();
}

const OPERATIONS: Record<string, () => Promise<unknown>> = {
  'an order': () => place(at.ada, small),
  'an order of a service account': () => place(program, small),
  'a request to pay': () => place(at.ada, large),
  'a request of a service account': () => place(program, large),
  'an approval': async () => approve(await place(at.ada, large)),
  'a page of approvals': () => service.listApprovals(dana, { status: 'required', limit: 10 }),
  'a change of rules': async () => {
    const { version } = await service.getApprovalRules(at.ada);
    await service.replaceApprovalRules(at.ada, { version, rules: RULES });
  },
  'a change of limits': async () => {
    const { version } = await service.getLimits(at.ada);
    const value = String(1000 + version);
    const limit = { scope: 'person', userID: at.ada.actor, metric: 'count', per: 'day', value } as const;
    await service.replaceLimits(at.ada, { version, limits: [limit] });
  },
  'a page of members': () => service.listMembers(at.ada, { limit: 10 }),
  'an invitation': () =>
    service.inviteMember(at.ada, { email: `new${(names += 1)}@elsewhere.example`, roles: ['viewer'] }),
  'a change of a member': async () => {
    await service.changeMember(at.ada, { memberId: await latest(), roles: ['member'] });
  },
  'a removal of a member': async () => {
    await service.removeMember(at.ada, { memberId: await latest() });
  },
  'a new service account': addServiceAccount,
  'a new key': async () => addKey((await addServiceAccount()).id),
  'a page of keys': () => service.listServiceAccountKeys(at.ada, { serviceAccountId, limit: 10 }),
  'a request with a token': async () => {
    expect((await new LedgerDirectory(database).userOf(SUBJECT))?.grants).toHaveLength(1);
  },
  'a request with a key': async () => {
    const key = { issuer: KEY_ISSUER, subject: String(keyId) };
    expect((await new LedgerDirectory(database).userOf(key))?.grants).toHaveLength(1);
  },
  'the gaps of a workspace': () => findGaps(database, [at.ada.workspaceId]),
};

describe('in a workspace of thousands of members', () => {
  it.each(Object.entries(OPERATIONS))('%s reads few of them', async (_, call) => {
    for (let times = 0; times < TIMES; times += 1) {
      expect(await tablesReadMuch({ database, owner: at.world.owner, tables: TABLES }, call)).toEqual([]);
    }
  });
});
