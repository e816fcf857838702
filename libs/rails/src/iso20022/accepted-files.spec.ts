import { rmSync } from 'node:fs';
import * as fc from 'fast-check';
import { type FreshDatabase, freshDatabase } from '@banking/postgres/testing';
import { anyDialect, anyPayments, fileRailConfig, filesIn } from '../testing/file-rails.js';
import { endToEndIdOf } from './end-to-end-id.js';
import { FolderBank } from './folder-bank/folder-bank.js';
import { Iso20022Rail } from './iso20022-rail.js';

let world: FreshDatabase;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());

describe('a bank that checks every file', () => {
  it('takes each payment that was accepted, in every dialect, and no other', async () => {
    let [accepted, rejected] = [0, 0];
    await fc.assert(
      fc.asyncProperty(anyPayments, anyDialect, async (payments, dialect) => {
        const config = fileRailConfig({ ...dialect, closeAfterSeconds: 0, paymentsMax: 1_000 });
        await world.owner.query(
          'set session_replication_role = replica; delete from file_payment; delete from payment_file',
        );
        await world.owner.query('set session_replication_role = default');
        const rail = new Iso20022Rail(config, world.database);
        const ids: string[] = [];
        for (const payment of payments) {
          const events = await rail.submit(payment);
          if (events.length === 0) ids.push(endToEndIdOf(payment.key));
        }
        while ((await rail.chores[0]!.run()) > 0);
        const lines: string[] = [];
        // Each account holds more than it pays.
        const bank = await FolderBank.open(config.folder, {
          ...{ delayMs: 0, opening: '9000000000000000.00', log: (line) => lines.push(line) },
        });
        await bank.step();
        await bank.close();

        const reports = [...filesIn(config, 'in').values()].join('').replace(/>\s+</g, '><');
        const stated = [
          ...reports.matchAll(
            /<OrgnlEndToEndId>([^<]*)<\/OrgnlEndToEndId>(?:<OrgnlUETR>[^<]*<\/OrgnlUETR>)?<TxSts>([A-Z]{4})</g,
          ),
        ];
        expect(lines.filter((line) => line.startsWith('refused'))).toEqual([]);
        expect(stated.filter(([, , status]) => status === 'RJCT')).toEqual([]);
        expect(new Set(stated.map(([, id]) => id))).toEqual(new Set(ids));
        accepted += ids.length;
        rejected += payments.length - ids.length;
        rmSync(config.folder, { recursive: true });
      }),
      { numRuns: 40 },
    );
    expect(Math.min(accepted, rejected)).toBeGreaterThan(0);
  });
});
