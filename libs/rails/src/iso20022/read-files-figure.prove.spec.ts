import { createWriteStream, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type FreshDatabase, freshDatabase } from '@banking/postgres/testing';
import type { FileRailConfig } from '../rail-config.js';
import { cashReport } from '../testing/bank-files.js';
import { runFileWorker } from '../testing/file-worker.js';
import { fileRailConfig } from '../testing/file-rails.js';

const ENTRIES = 200_000;

let world: FreshDatabase;
let config: FileRailConfig;

beforeAll(async () => {
  world = await freshDatabase();
  config = fileRailConfig();
});
afterAll(async () => {
  rmSync(config.folder, { recursive: true });
  await world.close();
});

/** A statement of a bank with all that banks give of an entry, about 500 bytes each. */
function* largeStatement(): Generator<string> {
  const [head = '', tail = ''] = cashReport('053', 'DE89370400440532013000', [
    { amount: '0', details: 'HERE', status: 'INFO' },
  ]).split(/<Ntry>.*<\/Ntry>/s);
  yield head;
  for (let number = 1; number <= ENTRIES; number += 1) {
    const reference = `2026112600${String(number).padStart(10, '0')}`;
    yield (
      `<Ntry><Amt Ccy="EUR">${number}.25</Amt><CdtDbtInd>${number % 3 === 0 ? 'DBIT' : 'CRDT'}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>` +
      `<BookgDt><Dt>2026-11-26</Dt></BookgDt><ValDt><Dt>2026-11-26</Dt></ValDt><AcctSvcrRef>${reference}</AcctSvcrRef><NtryDtls><TxDtls>` +
      `<Refs><EndToEndId>INVOICE-${number}</EndToEndId></Refs><RltdPties><Dbtr><Pty><Nm>Payer ${number}</Nm></Pty></Dbtr>` +
      `<DbtrAcct><Id><IBAN>DE75512108001245126199</IBAN></Id></DbtrAcct></RltdPties>` +
      `<RmtInf><Ustrd>Invoice ${number} of November 2026</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>\n`
    );
  }
  yield tail;
}

describe('a large file of a bank', () => {
  it(`with ${ENTRIES} entries is read in 60 s and 300 MB`, async () => {
    const path = join(config.folder, 'in', 'large.xml');
    mkdirSync(join(config.folder, 'in'));
    await pipeline(Readable.from(largeStatement()), createWriteStream(path));
    const size = statSync(path).size / 1_000_000;
    const startedAt = performance.now();
    const report = await runFileWorker('reading', world, config);
    const seconds = (performance.now() - startedAt) / 1_000;
    const megabytes = report!.maxRssKb / 1_024;
    process.stdout.write(
      `${ENTRIES} entries, ${size.toFixed(0)} MB: ${seconds.toFixed(1)} s, ${megabytes.toFixed(0)} MB of memory\n`,
    );

    const { rows } = await world.owner.query<{ count: number; entry_count: number }>(
      'select (select count(*)::int from bank_entry), entry_count from bank_statement',
    );
    expect(rows).toEqual([{ count: ENTRIES, entry_count: ENTRIES }]);
    expect(readdirSync(join(config.folder, 'done'))).toEqual(['large.xml']);
    expect(megabytes).toBeLessThan(300);
  });
});
