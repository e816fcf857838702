import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type * as FileSystem from 'node:fs/promises';
import { join } from 'node:path';
import { testOrProve } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { CREDITOR, DEBTOR, ENDING, paymentFile, SpecFolder, type SpecPayment } from '../../testing/payment-files.js';
import { schemaMistakes } from '../../testing/schema-mistakes.js';
import { BankRequestError, FolderBank, type FolderBankOptions, FolderInUse, requestOfBank } from './folder-bank.js';

const NOW = Date.parse('2026-11-27T10:00:00Z');
const DONE_MS = 120_000;

let folder: SpecFolder;
let bank: FolderBank;
let now: number;
let lines: string[];

const opened = (more: Partial<FolderBankOptions> = {}) =>
  FolderBank.open(folder.path, {
    ...{ delayMs: 1_000, opening: '1000.00', now: () => new Date(now), log: (line) => lines.push(line) },
    ...more,
  });

beforeEach(async () => {
  [folder, now, lines] = [new SpecFolder(), NOW, []];
  bank = await opened();
});
afterEach(async () => {
  await bank.close();
  rmSync(folder.path, { recursive: true });
});

async function stepAfter(ms: number): Promise<void> {
  now += ms;
  await bank.step();
}

/** The texts of an element, in all files of a kind. */
const valuesOf = (element: string, kind: string): readonly string[] =>
  folder
    .texts(kind)
    .flatMap((text) => [...text.matchAll(new RegExp(`<${element}(?: [^>]*)?>([^<]*)</${element}>`, 'g'))])
    .map(([, value = '']) => value);

const balanceOf = (account: string) => bank.balances().find((one) => one.account === account)?.balance;

describe('the bank in a folder', () => {
  it('takes a file of either version, and settles its payments', async () => {
    folder.leave(
      'a.xml',
      paymentFile({ id: 'M1', payments: [{ endToEndId: 'E1' }, { endToEndId: 'E2', amount: '2.50' }] }),
    );
    folder.leave('b.xml', paymentFile({ id: 'M2', version: '03', payments: [{ endToEndId: 'E3' }] }));

    await stepAfter(0);
    expect([folder.names('out'), valuesOf('GrpSts', 'pain.002'), valuesOf('OrgnlMsgId', 'pain.002')]).toEqual([
      [],
      ['ACTC', 'ACTC'],
      ['M1', 'M2'],
    ]);
    expect(folder.names('bank/taken')).toEqual([expect.stringMatching(/a\.xml$/), expect.stringMatching(/b\.xml$/)]);

    await stepAfter(1_000);
    expect(valuesOf('TxSts', 'pain.002')).toEqual(['ACSP', 'ACSP', 'ACSP']);
    expect(balanceOf(DEBTOR)).toBe(100_000n);

    await stepAfter(DONE_MS);
    expect(valuesOf('TxSts', 'pain.002').slice(-3)).toEqual(['ACSC', 'ACSC', 'ACSC']);
    expect([valuesOf('EndToEndId', 'camt.054'), valuesOf('CdtDbtInd', 'camt.054')]).toEqual([
      ['E1', 'E2', 'E3'],
      Array(6).fill('DBIT'),
    ]);
    expect(balanceOf(DEBTOR)).toBe(97_750n);
  });

  it.each<[string, keyof typeof ENDING, readonly string[], readonly string[], bigint]>([
    ['at once', 'rejectedAtOnce', ['RJCT AC01'], [], 100_000n],
    ['later', 'rejectedLater', ['ACSP G000', 'RJCT AC04'], [], 100_000n],
    ['never', 'never', ['ACSP G000', 'ACSP G002'], [], 100_000n],
    ['twice', 'twice', ['ACSP G000', 'ACSP G000', 'ACSP G001', 'ACSP G001', 'ACSC', 'ACSC'], ['DBIT'], 99_000n],
    ['in disorder', 'disordered', ['ACSC', 'ACSP G001', 'ACSP G000'], ['DBIT'], 99_000n],
    ['rejected and settled', 'rejectedThenSettled', ['ACSP G000', 'RJCT AC04', 'ACSC'], ['DBIT'], 99_000n],
    ['settled and rejected', 'settledThenRejected', ['ACSP G000', 'ACSC', 'RJCT AC04'], ['DBIT'], 99_000n],
    ['settled, and the money comes back', 'returned', ['ACSP G000', 'ACSP G001', 'ACSC'], ['DBIT', 'CRDT'], 100_000n],
  ])('reports a payment %s by the end of the account', async (_, ending, statuses, booked, balance) => {
    folder.leave('a.xml', paymentFile({ id: 'M1', payments: [{ endToEndId: 'E1', account: ENDING[ending] }] }));

    for (let second = 0; second < 12; second += 1) await stepAfter(second === 0 ? 0 : 1_000);

    const reported = folder
      .texts('pain.002')
      .flatMap((text) => [...text.matchAll(/<TxSts>(\w+)<.TxSts>(?:\s*<StsRsnInf>\s*<Rsn>\s*<Cd>(\w+))?/g)]);
    expect(reported.map(([, status, reason]) => [status, reason].join(' ').trim())).toEqual(statuses);
    expect(folder.texts('camt.054').map((text) => /<CdtDbtInd>(\w+)</.exec(text)?.[1])).toEqual(booked);
    expect(balanceOf(DEBTOR)).toBe(balance);
    if (ending === 'returned') {
      expect(folder.texts('camt.054').at(-1)).toMatch(/<EndToEndId>E1<[\s\S]*<RtrInf>\s*<Rsn>\s*<Cd>AC04</);
    }
  });

  it('reports without a delay in the order of time', async () => {
    await bank.close();
    bank = await opened({ delayMs: 0 });
    const payments = [ENDING.returned, ENDING.rejectedLater].map((account, index) => ({
      endToEndId: `E${index}`,
      account,
    }));
    folder.leave('a.xml', paymentFile({ id: 'M1', payments }));

    await bank.step();

    expect(valuesOf('TxSts', 'pain.002')).toEqual(['ACSP', 'ACSP', 'ACSP', 'RJCT', 'ACSC']);
    expect(folder.texts().at(-1)).toMatch(/RtrInf/);
  });

  it('rejects the payments of a message that it cannot make, and makes the others', async () => {
    const payments: SpecPayment[] = [
      { endToEndId: 'fine' },
      { endToEndId: 'iban', account: 'DE74512108001245126199' },
      { endToEndId: 'bic', bic: 'MARKXXFF' },
      { endToEndId: 'text', remittance: 'Grüße' },
      { endToEndId: 'a//b' },
      { endToEndId: 'address', address: { Ctry: 'DE', AdrLine: '1 Harbour Street' } },
      { endToEndId: 'town', address: { TwnNm: 'Hamburg', Ctry: 'DE', AdrLine: '1 Harbour Street' } },
      { endToEndId: 'decimals', amount: '1.005' },
      { endToEndId: 'nothing', amount: '0.00' },
      { endToEndId: 'fine' },
    ];
    folder.leave('a.xml', paymentFile({ id: 'M1', payments, sum: '81.005' }));

    await stepAfter(0);
    await stepAfter(DONE_MS);

    const first = folder.texts('pain.002')[0]!;
    const statuses = [...first.matchAll(/<TxSts>(\w+)<.TxSts>(?:\s*<StsRsnInf>\s*<Rsn>\s*<Cd>(\w+))?/g)];
    expect(valuesOf('GrpSts', 'pain.002')).toEqual(['PART']);
    expect(statuses.map(([, status, reason = '']) => `${status} ${reason}`)).toEqual([
      ...['ACTC ', 'RJCT AC01', 'RJCT RC01', 'RJCT RR10', 'RJCT RR10', 'RJCT BE04', 'ACTC ', 'RJCT AM12', 'RJCT AM01'],
      'RJCT DU04',
    ]);
    expect(valuesOf('EndToEndId', 'camt.054')).toEqual(['fine', 'town']);
  });

  const ONE = { id: 'M2', payments: [{ endToEndId: 'E2' }] };

  describe('a file that cannot be carried out', () => {
    /** One process checks those of all files. */
    const reports: string[] = [];
    afterAll(() => expect(schemaMistakes(reports)).toEqual(reports.map(() => '')));

    it.each<[string, string, string]>([
      ['a wrong number of payments', 'AM18', paymentFile({ ...ONE, count: '2' })],
      ['a wrong sum', 'AM10', paymentFile({ ...ONE, sum: '10.01' })],
      ['an id that it has', 'AM05', paymentFile({ ...ONE, id: 'M1' })],
      [
        'an element in another place',
        'FF01',
        paymentFile(ONE).replace(/(\s*<ChrgBr>SLEV<.ChrgBr>)([\s\S]*)(\s*<.PmtInf>)/, '$2$1$3'),
      ],
      ['an element that the schema does not have', 'FF01', paymentFile(ONE).replace('<Amt>', '<Price>1</Price><Amt>')],
      ['a missing element', 'FF01', paymentFile(ONE).replace(/<DbtrAcct>[\s\S]*<.DbtrAcct>/, '')],
      ['a reference that is too long', 'FF01', paymentFile({ ...ONE, payments: [{ endToEndId: 'E'.repeat(36) }] })],
      ['another message', 'FF01', paymentFile(ONE).replace('pain.001.001.09', 'pain.008.001.08')],
      ['no XML', 'FF01', 'Dear bank, please pay'],
      ['a document type', 'FF01', paymentFile(ONE).replace('<Document', '<!DOCTYPE Document><Document')],
    ])('is refused for %s, and nothing is debited for it', async (_, code, text) => {
      folder.leave('a.xml', paymentFile({ id: 'M1', payments: [{ endToEndId: 'E1' }] }));
      await stepAfter(0);
      folder.leave('b.xml', text);

      await stepAfter(0);
      await stepAfter(DONE_MS);

      const refusal = folder.texts('pain.002').find((report) => report.includes('<GrpSts>RJCT<'));
      expect(/<Cd>(\w+)</.exec(refusal ?? '')?.[1]).toBe(code);
      expect(folder.names('bank/refused')).toHaveLength(1);
      expect(valuesOf('EndToEndId', 'camt.054')).toEqual(['E1']);
      reports.push(...folder.texts());
    });
  });

  it.each([
    ['in the past', '2026-11-26'],
    ['at a weekend', '2026-11-28'],
    ['at a closing day of TARGET', '2026-12-25'],
    ['on Good Friday', '2027-03-26'],
    ['on Easter Monday', '2027-03-29'],
    ['that does not exist', '2026-11-31'],
  ])('rejects the payments of a day %s', async (_, executeOn) => {
    folder.leave('a.xml', paymentFile({ ...ONE, executeOn }));

    await stepAfter(0);

    expect([valuesOf('PmtInfSts', 'pain.002'), valuesOf('Cd', 'pain.002')]).toEqual([['RJCT'], ['DT01']]);
  });

  it('rejects what the account does not hold', async () => {
    const payments = [
      { endToEndId: 'E1', amount: '600.00' },
      { endToEndId: 'E2', amount: '600.00' },
    ];
    folder.leave('a.xml', paymentFile({ id: 'M1', payments }));

    await stepAfter(0);
    await stepAfter(DONE_MS);

    expect(valuesOf('TxSts', 'pain.002').slice(-2)).toEqual(['ACSC', 'RJCT']);
    expect(balanceOf(DEBTOR)).toBe(40_000n);
  });

  it('books a batch as one entry with its payments', async () => {
    const payments = [{ endToEndId: 'E1' }, { endToEndId: 'E2', amount: '2.50' }];
    folder.leave('a.xml', paymentFile({ id: 'M1', isBatch: true, payments }));

    await stepAfter(0);
    await stepAfter(DONE_MS);

    expect([valuesOf('Amt', 'camt.054'), valuesOf('NtryRef', 'camt.054')]).toEqual([
      ['12.50', '10.00', '2.50'],
      [expect.any(String)],
    ]);
  });

  it('states every entry once, from the closing balance of the statement before', async () => {
    const payer = { kind: 'payment', amount: '1250.00', currency: 'EUR', to: DEBTOR, payer: 'Mia Stone' } as const;
    await requestOfBank(folder.path, { ...payer, reference: 'RF18539007547034' });
    await requestOfBank(folder.path, { kind: 'statement' });
    await stepAfter(0);
    folder.leave('a.xml', paymentFile({ id: 'M1', payments: [{ endToEndId: 'E1' }] }));
    await stepAfter(0);
    await stepAfter(DONE_MS);
    await requestOfBank(folder.path, { kind: 'statement' });
    await requestOfBank(folder.path, { kind: 'statement' });
    await stepAfter(0);

    const statements = folder.texts('camt.053').map((text) => {
      const balances = [...text.matchAll(/<Bal>[\s\S]*?<Amt Ccy="EUR">([\d.]+)</g)].map(([, amount]) => amount);
      const entries = [...text.matchAll(/<Ntry>[\s\S]*?<Amt Ccy="EUR">([\d.]+)</g)].map(([, amount]) => amount);
      return [/<ElctrncSeqNb>(\d+)</.exec(text)?.[1], ...balances, ...entries];
    });
    expect(statements).toEqual([
      ['1', '1000.00', '2250.00', '1250.00'],
      ['2', '2250.00', '2240.00', '10.00'],
      ['3', '2240.00', '2240.00'],
    ]);
    expect(folder.texts('camt.054')[0]).toMatch(/<Dbtr>\s*<Pty>\s*<Nm>Mia Stone<[\s\S]*<Ref>RF18539007547034</);
  });

  it('states at an interval', async () => {
    await bank.close();
    bank = await opened({ statementEveryMs: 60_000 });
    await requestOfBank(folder.path, { kind: 'payment', amount: '1', currency: 'EUR', to: DEBTOR, payer: 'Mia Stone' });

    await stepAfter(0);
    await stepAfter(59_000);
    expect(folder.texts('camt.053')).toHaveLength(0);
    await stepAfter(1_000);
    await stepAfter(1_000);

    expect(folder.texts('camt.053')).toHaveLength(1);
  });

  it('has one process for a folder', async () => {
    const lock = join(folder.path, 'bank/lock');
    writeFileSync(lock, '1');
    await expect(opened()).rejects.toThrow(FolderInUse);
    writeFileSync(lock, '999999999');

    await bank.close();
    bank = await opened();

    expect(readFileSync(lock, 'utf8')).toBe(String(process.pid));
  });

  it.each([
    ['an unknown currency', { currency: 'XXA' }, 'Write the currency as a code of ISO 4217 in capitals, such as EUR.'],
    ['too many decimals', { amount: '1.005' }, 'An amount in EUR must have at most 2 decimals, not 3.'],
    [
      'decimals of a currency without',
      { amount: '12.5', currency: 'JPY' },
      'An amount in JPY must have no decimals, not 1.',
    ],
    ['nothing', { amount: '0' }, 'The amount must be above zero.'],
    [
      'too much',
      { amount: '12345678901234567890' },
      'An amount would be above the limit of 9223372036854775807 minor units.',
    ],
    ['an account with spaces', { to: 'DE89 3704' }, 'An account has at most 34 letters and digits, without spaces.'],
    ['a payer without a name', { payer: '' }, 'The name of a payer has 1 to 140 characters.'],
  ])('refuses a request with %s', async (_, part, message) => {
    const request = { kind: 'payment', amount: '1', currency: 'EUR', to: DEBTOR, payer: 'Mia Stone', ...part } as const;

    await expect(requestOfBank(folder.path, request)).rejects.toThrow(new BankRequestError(message));
  });

  it('writes messages that the schemas of ISO 20022 accept', async () => {
    const accounts = [...Object.values(ENDING), CREDITOR];
    const payments = accounts.map((account, index) => ({ endToEndId: `E${index}`, account, remittance: "A 'b' (c)" }));
    folder.leave('a.xml', paymentFile({ id: 'M1', isBatch: true, payments }));
    folder.leave(
      'b.xml',
      paymentFile({ id: 'M2', payments: payments.map((one) => ({ ...one, endToEndId: `x${one.endToEndId}` })) }),
    );
    const payer = { kind: 'payment', amount: '12.00', currency: 'EUR', to: DEBTOR, payer: 'A & B <C>' } as const;
    await requestOfBank(folder.path, { ...payer, reference: 'für "Q" & co', payerAccount: CREDITOR });
    await requestOfBank(folder.path, { ...payer, currency: 'JPY', amount: '1200', to: '42' });
    for (let second = 0; second < 12; second += 1) await stepAfter(second === 0 ? 0 : 1_000);
    await requestOfBank(folder.path, { kind: 'statement' });
    await stepAfter(0);

    const texts = folder.texts();
    expect(texts.length).toBeGreaterThan(20);
    expect(schemaMistakes(texts)).toEqual(texts.map(() => ''));
  });
});

/** How many further changes of files are made before the bank is killed. */
let changesLeft = Infinity;
const KILLED = new Error('killed');

jest.mock('node:fs/promises', () => {
  const real = jest.requireActual<typeof FileSystem>('node:fs/promises');
  const unlessKilled =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      changesLeft -= 1;
      return changesLeft < 0 ? Promise.reject(KILLED) : call(...args);
    };
  const [open, rename, unlink] = [unlessKilled(real.open), unlessKilled(real.rename), unlessKilled(real.unlink)];
  return { ...real, open, rename, unlink };
});

describe('a bank that is killed before any change of a file', () => {
  const payer = { kind: 'payment', amount: '5.00', currency: 'EUR', to: DEBTOR, payer: 'Mia Stone' } as const;
  const OPENING = '1000000.00';

  /** What a bank sends that is not killed: files, and payments that are booked. */
  async function sentWithoutKills(payments: readonly SpecPayment[]): Promise<readonly number[]> {
    const other = new SpecFolder();
    const options = { delayMs: 1_000, opening: OPENING, now: () => new Date(now) };
    const undisturbed = await FolderBank.open(other.path, options);
    other.leave('a.xml', paymentFile({ id: 'M1', payments }));
    await requestOfBank(other.path, payer);
    const since = now;
    for (; now < since + 60_000; now += 1_000) await undisturbed.step();
    now = since;
    await undisturbed.close();
    const booked = other.texts('camt.054').flatMap((text) => text.match(/<TxDtls>/g) ?? []).length;
    const sent = [other.names().length, booked];
    rmSync(other.path, { recursive: true });
    return sent;
  }

  it('carries each file and each request out once, sends each message once, and loses no money', async () => {
    await bank.close();
    const accounts = fc.array(fc.constantFrom(...Object.values(ENDING), CREDITOR), { minLength: 1, maxLength: 4 });
    let killed = 0;
    await fc.assert(
      fc.asyncProperty(accounts, fc.array(fc.nat(30), { maxLength: 8 }), async (chosen, kills) => {
        folder = new SpecFolder();
        bank = await opened({ opening: OPENING });
        const payments = chosen.map((account, index) => ({ endToEndId: `E${index}`, account }));
        folder.leave('a.xml', paymentFile({ id: 'M1', payments }));
        await requestOfBank(folder.path, payer);
        for (const kill of kills) {
          changesLeft = kill;
          try {
            await stepAfter(1_000);
          } catch (error) {
            expect(error).toBe(KILLED);
            killed += 1;
          }
          changesLeft = Infinity;
          // The lock of a process that is gone.
          rmSync(join(folder.path, 'bank/lock'));
          bank = await opened({ opening: OPENING });
        }
        for (let second = 0; second < 60; second += 1) await stepAfter(1_000);

        const total = bank.balances().reduce((sum, { balance }) => sum + balance, 0n);
        expect(total).toBe(0n);
        expect(['out', 'bank/ready', 'bank/requests'].map((name) => folder.names(name))).toEqual([[], [], []]);
        now = NOW;
        const [files, booked] = await sentWithoutKills(payments);
        expect([
          folder.names().length,
          folder.texts('camt.054').flatMap((text) => text.match(/<TxDtls>/g) ?? []).length,
        ]).toEqual([files, booked]);
        await bank.close();
        rmSync(folder.path, { recursive: true });
      }),
      { numRuns: testOrProve(12, 60) },
    );
    expect(killed).toBeGreaterThan(testOrProve(4, 20));
    folder = new SpecFolder();
    bank = await opened();
  });
});
