import type { AccountId, RecipientId } from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { APP_ROLE, bind, type Database, SCHEMA, sqlStatement } from '@banking/postgres';
import { Wire, openDatabase } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { LedgerDirectory } from '../apps/directory.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, ada } = {} as OrderWorld;
let wire: Wire;
let wired: Database;
let service: LedgerBankingService;
let accountId: AccountId;
let recipientId: RecipientId;

beforeAll(async () => {
  ({ world, ada } = await orderWorld());
  wire = await Wire.lay(world.connection);
  wired = await openDatabase({ connection: wire.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 2 });
  service = new LedgerBankingService(wired, openBooks(wired));
  const account = (await service.openAccount(ada, { productID: 1 as never })).resource;
  accountId = account.id;
  recipientId = (await service.addInternalRecipient(ada, { accountCode: account.code ?? '' })).resource.id;
});
afterAll(async () => {
  await wired.end();
  await wire.remove();
  await world.close();
});

/** Cuts the connection after the database has executed a statement, before the response arrives. */
function loseResponseTo(statementName: string): void {
  wire.toServer = (sent, sender) => {
    if (sent.includes(statementName)) {
      wire.toServer = (bytes) => ({ pass: bytes });
      wire.toClient = (bytes, receiver) => {
        if (receiver !== sender) return { pass: bytes };
        wire.toClient = (later) => ({ pass: later });
        return { isCut: true };
      };
    }
    return { pass: sent };
  };
}

const NOW = '2099-01-01T00:00:00.000Z';

describe('a change whose connection is lost around the commit', () => {
  it.each<[string, string, () => Promise<unknown>, string]>([
    [
      'an account',
      'change_account',
      () => service.changeAccount(ada, { accountId, alias: 'Changed' }),
      `select alias = 'Changed' as is_done from account where id = $1`,
    ],
    [
      'a recipient',
      'change_recipient',
      () => service.changeRecipient(ada, { recipientId, alias: 'Changed' }),
      `select alias = 'Changed' as is_done from recipient where id = $2`,
    ],
    [
      'the clock',
      'move_clock',
      () => service.moveClock(ada, { now: NOW as never }),
      `select now = '${NOW}' as is_done from sandbox_clock`,
    ],
    [
      'a recipient that is deleted',
      'delete_recipient',
      () => service.deleteRecipient(ada, { recipientId }),
      `select forgotten_at is not null as is_done from recipient where id = $2`,
    ],
  ])('is refused with `outcome_unknown` and was made: %s', async (what, name, change, isDone) => {
    loseResponseTo(name);

    await expect(change()).rejects.toMatchObject({ reason: 'outcome_unknown', status: 504 });

    const named = sqlStatement<{ is_done: boolean }>(
      `is ${what} done`,
      `with named as (select $1::bigint, $2::bigint) ${isDone}`,
    );
    const row = await world.database.read({ workspaces: [ada.workspaceId] }, bind(named, accountId, recipientId));
    expect(row).toEqual({ is_done: true });
  });

  it('does nothing of the request if the subject of a user was being bound, and the next request binds it', async () => {
    const directory = new LedgerDirectory(wired);
    const subject = { issuer: 'doubt', subject: 'ada', email: 'ada@northwind.example' };
    loseResponseTo('bind_subject');

    await expect(directory.userOf(subject)).rejects.toMatchObject({ reason: 'unavailable' });
    await expect(directory.userOf(subject)).resolves.toMatchObject({ id: ada.actor });
  });
});
