import type { AccountId } from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { OPERATOR_ROLE, SCHEMA } from '@banking/postgres';
import { openDatabase, reasonOf, until } from '@banking/postgres/testing';
import { orderWorld } from '../testing/order-world.js';
import { addFunding } from './operator-actions.js';

const LIMITS = { statementTimeoutMs: 20_000, lockTimeoutMs: 20_000, acquireTimeoutMs: 20_000 };

describe('a funding of an operator', () => {
  it('books the money of a key in one workspace, also if two are asked at the same moment', async () => {
    const { world, account, ada, eve } = await orderWorld();
    const database = await openDatabase({
      connection: world.connection,
      role: OPERATOR_ROLE,
      schema: SCHEMA,
      ...LIMITS,
    });
    const [north, south] = [await account(1, '0', ada), await account(1, '0', eve)];
    const fund = (accountId: AccountId) =>
      addFunding(openBooks(database), { accountId, amount: '1.00', key: 'statement-17', isOfOperator: true });

    await world.owner.query('begin');
    await world.owner.query('select from account where id = $1 for update', [north]);
    const first = fund(north);
    await until(async () => {
      const { rowCount } = await world.owner.query(
        `select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`,
      );
      return rowCount! > 0;
    });
    const meanwhile = await reasonOf(fund(south));
    await world.owner.query('rollback');
    const { transfer } = await first;

    expect(meanwhile).toBe('idempotency_in_progress');
    expect(await reasonOf(fund(south))).toBe('idempotency_key_reused');
    expect(await fund(north)).toMatchObject({ isReplay: true, transfer: { id: transfer.id } });
    await database.end();
    await world.close();
  });
});
