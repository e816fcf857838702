import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QuoteId, Scope, UserId, WorkspaceId } from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { APP_ROLE, migrate, OWNER_ROLE, PROVISIONING_ROLE, SCHEMA, RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { freshDatabase, sql, type FreshDatabase, reasonOf } from '@banking/postgres/testing';
import { makeDemoData, readDemoIds, type DemoIds } from '@banking/operations/demo';
import { LedgerBankingService } from '@banking/operations';
import { loadReference } from '@banking/operations';
import { MIGRATIONS } from './all-migrations.js';
import { DEMO_RATES } from '@banking/rates';
import { openProvisioning } from '@banking/operations/testing';

const ROUNDS_DOWN = '-conversion-rounds-down.sql';
/** Not an id of the demo data. */
const OLD_QUOTE = 900_001;
const OLD_TRANSACTION = 900_002;

/** 2500.00 USD at a rate at which a part of a paisa is missing from what arrives. */
const TERMS = `20750000, '82.99999999995', 'spec', now(), 'half-even', -125, 10000000`;
/** Without a column that a later migration added. */
const AS_WRITTEN = `select (select to_jsonb(q) - 'fixed_side' from quote q where id = ${OLD_QUOTE}) as quote,
  (select to_jsonb(c) - 'fixed_side' from conversion c where transaction_id = ${OLD_TRANSACTION}) as conversion`;

let world: FreshDatabase;
let demo: DemoIds;
let service: LedgerBankingService;
let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };
let before: unknown;

/** A database of the previous version with a quote and a conversion rounded half to even, migrated to this version. */
beforeAll(async () => {
  world = await freshDatabase();
  await world.owner.query(`drop schema ${SCHEMA} cascade`);
  const roles = { ownerRole: OWNER_ROLE, appRole: APP_ROLE, provisioningRole: PROVISIONING_ROLE };
  const parameters = { 'banking.sandbox': 'on' };
  const schema = { connection: world.connection, schema: SCHEMA, parameters, ...roles };
  const older = await mkdtemp(join(tmpdir(), 'banking-older-'));
  const files = (
    await Promise.all(MIGRATIONS.map(async (folder) => (await readdir(folder)).map((name) => ({ folder, name }))))
  ).flat();
  const { name: roundsDown } = files.find(({ name }) => name.endsWith(ROUNDS_DOWN))!;
  for (const { folder, name } of files) if (name < roundsDown) await copyFile(join(folder, name), join(older, name));
  await migrate({ ...schema, folders: [older] });
  await rm(older, { recursive: true });

  await world.owner.query(
    `begin; set local session_replication_role = replica;
     insert into quote (workspace_id, id, account_id, currency_id, amount, recipient_id, fee_amount, target_currency_id, target_amount,
                        rate, rate_source, rate_as_of, rounding, remainder_numerator, remainder_denominator, expires_at)
       values (1, ${OLD_QUOTE}, 1, 840, 250000, 2, 600, 356, ${TERMS}, now() + interval '1 hour');
     insert into conversion (workspace_id, transaction_id, quote_id, source_currency_id, source_amount, target_currency_id, target_amount,
                             rate, rate_source, rate_as_of, rounding, remainder_numerator, remainder_denominator)
       values (1, ${OLD_TRANSACTION}, ${OLD_QUOTE}, 840, 250000, 356, ${TERMS});
     commit`,
  );
  before = (await world.owner.query(AS_WRITTEN)).rows;
  // The connections of this spec are no processes of an older release.
  await migrate({ ...schema, folders: MIGRATIONS, isIgnoringOlder: true });

  await loadReference(world.database, { demo: true });
  const books = openBooks(world.database);
  await makeDemoData({ books, openProvisioning: () => openProvisioning(world) });
  demo = (await readDemoIds(world.database))!;
  service = new LedgerBankingService(world.database, books, { rates: DEMO_RATES, hasPayoutNetwork: true });
  ada = {
    actor: demo.users['ada@northwind.example'] as UserId,
    workspaceId: demo.workspaces['Northwind Trading'] as WorkspaceId,
  };
});
afterAll(() => world.close());

describe('a quote and a conversion that were rounded half to even', () => {
  it('stay unchanged after the migration', async () => {
    expect(before).toMatchObject([{ quote: { rounding: 'half-even' }, conversion: { rounding: 'half-even' } }]);
    expect((await world.owner.query(AS_WRITTEN)).rows).toEqual(before);
  });

  it('expire: an order cannot use the quote', async () => {
    const { edges, ...quote } = await service.getQuote(ada, { quoteId: OLD_QUOTE as QuoteId });
    expect(quote).toMatchObject({ rate: '82.99999999995', targetAmount: '20750000' });
    expect(Date.parse(quote.expiresAt)).toBeGreaterThan(Date.now());

    const input = {
      accountId: edges.account.id,
      recipientID: edges.recipient!.id,
      type: 'instant',
      quoteID: quote.id,
    } as const;
    expect(await reasonOf(service.placeOrder(ada, { ...input, amount: quote.amount }))).toBe('quote_expired');
    await world.owner.query(
      `insert into customer_order (workspace_id, id, account_id, recipient_id, amount, type, status)
       values ($1, 900003, 1, 2, 250000, 'instant', 'active')`,
      [ada.workspaceId],
    );
    const use = sql(
      'insert into quote_use (workspace_id, quote_id, order_id) values ($1, $2, 900003)',
      ada.workspaceId,
      OLD_QUOTE,
    );
    await expect(world.database.pipeline({ workspaces: [ada.workspaceId] }, [use])).rejects.toMatchObject({
      code: RULE_VIOLATION.quoteUnusable,
      message: 'the quote has expired',
    });
  });
});

describe('the constraint on conversions', () => {
  /** A conversion of 100.00 USD to 8300.00 rupees with changed columns, for a transaction without a conversion. */
  const written = (part: Readonly<Record<string, string>>) => {
    const row: Readonly<Record<string, string>> = {
      workspace_id: String(ada.workspaceId),
      transaction_id: String((transactions += 1)),
      source_currency_id: '840',
      source_amount: '10000',
      target_currency_id: '356',
      target_amount: '830000',
      rate: `'83'`,
      rate_source: `'spec'`,
      rate_as_of: 'now()',
      rounding: `'down'`,
      remainder_numerator: '0',
      remainder_denominator: '100',
      ...part,
    };
    const text = `insert into conversion (${Object.keys(row).join()}) values (${Object.values(row).join()})`;
    return world.database.pipeline({ workspaces: [ada.workspaceId] }, [sql(text)]);
  };
  let transactions = OLD_TRANSACTION;

  it('accepts a conversion that adds up', async () => {
    await written({});
    await written({ target_amount: '829999', remainder_numerator: '33', rate: `'82.999933'` });
    await written({
      source_currency_id: '356',
      source_amount: '84',
      target_currency_id: '840',
      target_amount: '1',
      rate: `'0.012'`,
      remainder_numerator: '8',
      remainder_denominator: '1000',
    });
    await written({ source_currency_id: '840', target_currency_id: '392', target_amount: '15400', rate: `'154'` });
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['more arrive', { target_amount: '830001' }, RULE_VIOLATION.wrongConversion],
    ['less arrive', { target_amount: '829999' }, RULE_VIOLATION.wrongConversion],
    ['another rate', { rate: `'83.000001'` }, RULE_VIOLATION.wrongConversion],
    ['a remainder that is none', { remainder_numerator: '1' }, RULE_VIOLATION.wrongConversion],
    ['a whole unit left over', { target_amount: '829999', remainder_numerator: '100' }, SQLSTATE.checkViolation],
    ['more arrive than was paid in', { target_amount: '830001', remainder_numerator: '-100' }, SQLSTATE.checkViolation],
    [
      'nothing arrive',
      {
        target_amount: '0',
        source_amount: '1',
        rate: `'0.001'`,
        remainder_numerator: '1',
        remainder_denominator: '1000',
      },
      SQLSTATE.checkViolation,
    ],
    ['the rounding of before', { rounding: `'half-even'` }, SQLSTATE.checkViolation],
    ['another rounding', { rounding: `'up'` }, SQLSTATE.checkViolation],
    [
      'sixteen digits of a rate',
      { rate: `'83.00000000000001'`, remainder_numerator: '1', remainder_denominator: '100000000' },
      SQLSTATE.checkViolation,
    ],
  ])('refuses %s', async (_, part, code) => {
    await expect(written(part)).rejects.toMatchObject({ code });
  });
});
