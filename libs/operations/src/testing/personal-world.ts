import {
  type ApprovalGroup,
  type ApprovalId,
  ApprovalPending,
  type PlaceOrderInput,
  type RecipientId,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { booksAs } from '@banking/ledger';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { OPERATOR_ROLE, WORKER_ROLE } from '@banking/postgres';
import { DEMO_RATES } from '@banking/reference';
import { Worker } from '@banking/work-queue';
import { BookDeposits } from '../deposits/book-deposits.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { erasePersonalData, type PersonalDataSubject } from '../personal-data/erase-personal-data.js';
import { type PersonalDataRetention, UnusedPersonalData } from '../personal-data/unused-personal-data.js';
import { addGrants } from '../provisioning/index.js';
import { addUser, bindUser } from '../provisioning/users.js';
import { verifyDirectory } from '../verification/verify-trails.js';
import { workOf } from '../worker/start-banking-worker.js';
import { recordChanges } from '../events/record-changes.js';
import { recordAudit } from '../audit/record-audit.js';
import { setRules } from './approval-world.js';
import { expectBooksInOrder } from './order-world.js';
import { demoDatabase } from './test-databases.js';

/** A sandbox keeps payments for as long as it is told. */
const AT_ONCE: PersonalDataRetention = { paymentsKeptDays: 0, recipientsKeptDays: 0, payersKeptDays: 0 };

const OPERATOR = 'ops';
const APP = 'Northwind Treasury';
/** The last characters of an IBAN choose what the network of the sandbox does. */
const IBANS = { paid: 'DE89370400440532013000', rejected: 'DE52370400440532019001' } as const;

/** Columns that an erasure writes besides those with personal data. */
const MARKS = ['erased_at', 'forgotten_at', 'updated_at'];

/** The approval that an operation waits for. */
async function approvalOf(operation: Promise<unknown>): Promise<ApprovalId> {
  try {
    await operation;
  } catch (pending) {
    if (pending instanceof ApprovalPending) return pending.approval.id;
    throw pending;
  }
  throw new Error('the operation needed no approval');
}

export type PersonalWorld = Awaited<ReturnType<typeof personalWorld>>;

/** The demo data with an account that has a balance, and what puts personal texts everywhere. A marker is a word that nothing else has. */
export async function personalWorld() {
  const world = await demoDatabase();
  const { owner, demo, database } = world;
  const asOperator = database.as(OPERATOR_ROLE);
  const asWorker = booksAs(world.books, WORKER_ROLE);
  const rates = { rates: DEMO_RATES, rails: SANDBOX_ROUTING };
  const service = new LedgerBankingService(database, world.books, rates, true);
  const workspaceId = demo.workspaces['Northwind Trading'] as WorkspaceId;
  const ada = { workspaceId, actor: demo.users['ada@northwind.example'] as UserId };
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const worker = new Worker(
    workOf(world, { orders: service.orders, approvals: service, rails: sandboxRails, onError }),
  );
  const approver = {
    workspaceId,
    actor: (await addUser(world.provisioning, OPERATOR, { email: 'approver@northwind.example', app: APP })) as UserId,
  };
  await addGrants(world.provisioning, OPERATOR, {
    workspaceId,
    email: 'approver@northwind.example',
    roles: ['approver'],
  });
  const { resource: from } = await service.openAccount(ada, { productID: 2 as never });
  const { resource: own } = await service.openAccount(ada, { productID: 2 as never });
  await service.fundAccount(ada, { accountId: from.id, amount: '100000000' as TransferAmount });
  const receiving = [
    {
      ...{ rail: 'bank-a', currency: 'EUR', id: 'BANK', isIban: false, bic: 'COBADEFFXXX', holder: 'Harbour' },
      suspenseAccount: own.code ?? '',
    },
  ];
  const deposits = new BookDeposits({ books: asWorker, receiving, onError });
  const { rows: relations } = await owner.query<{ name: string; erased: string[] | null }>(
    `select c.relname as name, array_agg(distinct p.field) filter (where p.field is not null) as erased
     from pg_class c left join personal_columns() p on p.relation = c.relname
     where c.relnamespace = 'banking'::regnamespace and c.relkind = 'r' group by 1`,
  );
  let entries = 0;

  const work = async (): Promise<void> => {
    while ((await worker.step()) > 0);
  };
  /** Asks for an operation while a rule requires an approval of its group, and decides it with a comment. */
  const decided = async (
    operations: ApprovalGroup,
    marker: string,
    decision: 'approve' | 'reject',
    ask: (asked: LedgerBankingService) => Promise<ApprovalId>,
  ): Promise<ApprovalId> => {
    await setRules(owner, workspaceId, [{ operations, approvals: 1, roles: ['approver'] }]);
    // It knows no rules from before, and is not asked again after they are gone.
    const asked = new LedgerBankingService(database, world.books, rates, true);
    const approvalId = await ask(asked);
    await asked.decideApproval(approver, { approvalId, decision, version: 1, comment: `I know ${marker}` });
    await setRules(owner, workspaceId, []);
    await work();
    return approvalId;
  };
  /** An invitation that was withdrawn before anyone has accepted it. @returns the id of the member */
  const invite = async (email: string): Promise<number> => {
    const { resource } = await service.inviteMember(ada, { email, roles: ['viewer'] });
    await service.removeMember(ada, { memberId: resource.id });
    return resource.id;
  };
  const paymentTo = (
    recipientID: RecipientId,
    marker: string,
    more: Partial<PlaceOrderInput> = {},
  ): PlaceOrderInput => ({
    ...{ accountId: from.id, recipientID, amount: '10000' as TransferAmount, type: 'instant', purposeCode: 'IR001' },
    ...{ description: `For ${marker}`, metadata: { person: marker }, ...more },
  });
  const erase = (named: PersonalDataSubject, { isDryRun = false } = {}) =>
    erasePersonalData(asOperator, named, { retention: AT_ONCE, isDryRun, operator: OPERATOR });
  return {
    ...{ ...world, service, ada, workspaceId, asOperator, asWorker, errors, erase },
    accountId: from.id,
    accountCode: from.code ?? '',
    /** A company abroad, whose texts all have the marker. */
    async recipient(marker: string, iban: keyof typeof IBANS = 'paid'): Promise<RecipientId> {
      const data = {
        ...{ beneficiaryName: `Firm ${marker}`, beneficiaryAddress: `Street of ${marker}`, destinationCountry: 'DE' },
        ...{ beneficiaryAccountType: 'Corporate', beneficiaryCountryCode: 'DE', beneficiaryAccountNumber: IBANS[iban] },
        ...{ routingCodeType1: 'SWIFT', routingCodeValue1: 'DEUTDEFF' },
      };
      const corridor = { payoutMethod: 'SWIFT', currencyCode: 'EUR', countryCode: 'DE' };
      const { resource } = await service.addInternationalRecipient(ada, {
        ...corridor,
        data,
        alias: `Alias ${marker}`,
      });
      // As a bank may answer whose account it is.
      await world.owner.query(
        `update recipient set verification = 'close_match', verified_name = $2, verified_at = now() where id = $1`,
        [resource.id, `Firm ${marker} Limited`],
      );
      return resource.id;
    },
    async near(marker: string): Promise<RecipientId> {
      const input = { accountCode: own.code ?? '', name: `Firm ${marker}`, alias: `Alias ${marker}` };
      return (await service.addInternalRecipient(ada, input)).resource.id;
    },
    /** A recipient whose addition an approver has allowed. */
    async approved(marker: string): Promise<RecipientId> {
      const input = { accountCode: own.code ?? '', name: `Firm ${marker}`, alias: `Alias ${marker}` };
      const approvalId = await decided('recipients', marker, 'approve', (asked) =>
        approvalOf(asked.addInternalRecipient(ada, input)),
      );
      return (await service.getApproval(ada, { approvalId })).outcome!.resource!.id as RecipientId;
    },
    /** A request to add a recipient that an approver has rejected. */
    rejected(marker: string): Promise<number> {
      const input = { accountCode: own.code ?? '', name: `Firm ${marker}` };
      return decided('recipients', marker, 'reject', (asked) => approvalOf(asked.addInternalRecipient(ada, input)));
    },
    invited: (marker: string): Promise<number> => invite(`${marker.toLowerCase()}@invited.example`),
    async pay(recipientID: RecipientId, marker: string, more: Partial<PlaceOrderInput> = {}): Promise<number> {
      const { resource } = await service.placeOrder(ada, paymentTo(recipientID, marker, more));
      return resource.id;
    },
    /** A payment that an approver has allowed. */
    payApproved: (recipientID: RecipientId, marker: string): Promise<number> =>
      decided('orders', marker, 'approve', async (asked) => {
        const { resource } = await asked.placeOrder(ada, paymentTo(recipientID, marker));
        return resource.approvalID!;
      }),
    cancel: (orderId: number) => service.cancelOrder(ada, { accountId: from.id, orderId: orderId as never }),
    /** Money of a payer. @param toSuspense names no account, so that it waits for an operator */
    async deposit(marker: string, toSuspense = false): Promise<number> {
      entries += 1;
      const named = toSuspense ? '' : ` ${from.code}`;
      const { rows } = await owner.query<{ id: bigint }>(
        `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, booked_on, remittance, party)
         values ('bank-a', 'BANK', $1, 'credit', 1250, 'EUR', 'booked', '2026-11-26', $2, $3) returning id`,
        [`entry-${entries}`, `From ${marker}${named}`, JSON.stringify({ name: marker, account: `DE${marker}` })],
      );
      while ((await deposits.run()) > 0);
      const found = await owner.query<{ id: bigint }>('select id from deposit where entry_id = $1', [rows[0]!.id]);
      return Number(found.rows[0]!.id);
    },
    /** A user with a subject, whose texts have the marker, who was invited once and has no role. */
    async user(marker: string): Promise<number> {
      const email = `${marker.toLowerCase()}@northwind.example`;
      await invite(email);
      const id = await addUser(world.provisioning, 'ops', { email, app: 'Northwind Treasury' });
      await bindUser(world.provisioning, 'ops', email, {
        issuer: 'https://id.example',
        subject: `sub-${marker.toLowerCase()}`,
      });
      return id;
    },
    /** Carries out all due work, and ends what is on its way: the events of the network are due now. */
    async work(): Promise<void> {
      await work();
      await owner.query(`update sandbox_rail_event set due_at = clock_timestamp() - interval '1 minute'`);
      await work();
    },
    /** A pass of the chore that erases what is not used. */
    async eraseUnused(retention: PersonalDataRetention = AT_ONCE): Promise<void> {
      const chore = new UnusedPersonalData(asWorker.database, retention);
      while ((await chore.eraseBatch()) > 0);
    },
    /** The tables in which a text is anywhere, in small letters or not. Stored responses expire with their keys. */
    async tablesWith(text: string): Promise<readonly string[]> {
      const found: string[] = [];
      for (const { name } of relations) {
        if (name === 'idempotency') continue;
        const { rows } = await owner.query(
          `select from banking.${name} t where to_jsonb(t)::text ilike '%' || $1 || '%' limit 1`,
          [text],
        );
        if (rows.length > 0) found.push(name);
      }
      return found;
    },
    /** What no erasure changes: all rows without the columns that it writes, and without trails and outboxes, to which it adds. */
    async rest(): Promise<ReadonlyMap<string, string>> {
      const rest = new Map<string, string>();
      for (const { name, erased } of relations) {
        if (/^(?:audit_|change_outbox|event|directory_change|user_identity|work$)/.test(name)) continue;
        const { rows } = await owner.query<{ digest: string }>(
          `select coalesce(md5(string_agg(r.row, '' order by r.row)), '') as digest
           from (select (to_jsonb(t) - $1::text[])::text as row from banking.${name} t) r`,
          [[...(erased ?? []), ...MARKS]],
        );
        rest.set(name, rows[0]!.digest);
      }
      return rest;
    },
    /** Books, payments, orders and trails are verified. Deferred triggers have passed, because each call is committed. */
    async expectInOrder(): Promise<void> {
      while (((await recordChanges(asWorker.database)) ?? 0) > 0);
      while (((await recordAudit(asWorker.database)) ?? 0) > 0);
      const all = Object.values(demo.workspaces);
      await expectBooksInOrder(asOperator, all);
      expect(await verifyDirectory(asOperator, all)).toEqual([]);
      expect(errors).toEqual([]);
    },
  };
}
