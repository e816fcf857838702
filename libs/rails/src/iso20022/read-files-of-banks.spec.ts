import { inChunks, listOf } from '../testing/streams.js';
import { cashReport, statusReport } from '../testing/bank-files.js';
import type { BankRecord } from './bank-records.js';
import { readBankFile } from './read-bank-file.js';

const IBAN = 'DE89370400440532013000';
const read = (file: string): Promise<BankRecord[]> => listOf(readBankFile(inChunks(file, 1_000)));
const entriesOf = async (file: string) => (await read(file)).filter((record) => record.kind === 'entry');
const statusesOf = async (file: string) => (await read(file)).filter((record) => record.kind === 'status');
const oneEntry = (details: string) => [{ amount: '5.00', reference: 'REF1', details }];
const inEntry = (details: string) => entriesOf(cashReport('053', IBAN, oneEntry(details)));

/** The same file with a prefix before each of its names. */
const prefixed = (file: string) => file.replace(/<(\/?)(?=[A-Z])/g, '<$1n:').replace('xmlns=', 'xmlns:n=');

const VERSIONS = ['02', '04', '06', '08', '10', '13'];
const REPORTS = (['052', '053', '054'] as const).flatMap((kind) => VERSIONS.map((version) => [kind, version] as const));

describe('a report of entries', () => {
  it.each(REPORTS)('is read as camt.%s.001.%s, with prefixes and with the older form of Sts', async (kind, version) => {
    const file = cashReport(kind, IBAN, [{ amount: '12.50', reference: 'REF1', endToEndId: 'E1' }], { version });
    const records = await read(file);
    expect(records.map((record) => record.kind)).toEqual(['message', 'statement', 'entry']);
    expect(records[2]).toMatchObject({ amount: 1_250n, status: 'booked', bankReference: 'REF1', endToEndId: 'E1' });
    expect(await read(prefixed(file))).toEqual(records);
    expect(await read(file.replace('<Sts><Cd>BOOK</Cd></Sts>', '<Sts>BOOK</Sts>'))).toEqual(records);
  });

  it.each([
    ['BIC and Nm, before 2019', '<Dbtr><Nm>Payer</Nm></Dbtr>', 'BIC'],
    ['BICFI and Nm', '<Dbtr><Nm>Payer</Nm></Dbtr>', 'BICFI'],
    ['BICFI and Pty/Nm', '<Dbtr><Pty><Nm>Payer</Nm></Pty></Dbtr>', 'BICFI'],
    ['an ultimate debtor alone', '<UltmtDbtr><Pty><Nm>Payer</Nm></Pty></UltmtDbtr>', 'BICFI'],
  ])('names the payer by %s', async (_, party, bic) => {
    const [entry] = await inEntry(
      `<TxDtls><RltdPties>${party}</RltdPties><RltdAgts><DbtrAgt><FinInstnId><${bic}>SOGEDEFF</${bic}></FinInstnId></DbtrAgt></RltdAgts></TxDtls>`,
    );
    expect(entry?.party).toMatchObject({ name: 'Payer', bank: 'SOGEDEFF' });
  });

  it('has the details of a batch as entries, and its total without them', async () => {
    const detail = (reference: string, amount: string) =>
      `<TxDtls><Refs><AcctSvcrRef>${reference}</AcctSvcrRef></Refs><AmtDtls><TxAmt><Amt Ccy="EUR">${amount}</Amt></TxAmt></AmtDtls></TxDtls>`;
    expect(
      await inEntry(`<Btch><NbOfTxs>2</NbOfTxs></Btch>${detail('D1', '2.00')}${detail('D2', '3.00')}`),
    ).toMatchObject([
      { amount: 200n, bankReference: 'D1', batchReference: 'REF1' },
      { amount: 300n, bankReference: 'D2', batchReference: 'REF1' },
    ]);
    const totals = await inEntry('<Btch><NbOfTxs>2</NbOfTxs></Btch>');
    expect(totals).toMatchObject([{ amount: 500n, batchCount: 2, batchReference: 'REF1' }]);
    // Details that do not sum to their entry are no money.
    const wrong = await inEntry(`${detail('D1', '2.00')}${detail('D2', '2.00')}`);
    expect(wrong).toMatchObject([{ amount: 500n, batchCount: 2 }]);
  });

  it('has reversals and returns, with the other side of the payment that they take back', async () => {
    const parties = '<RltdPties><Dbtr><Nm>Payer</Nm></Dbtr><Cdtr><Nm>Payee</Nm></Cdtr></RltdPties>';
    const returned = `<TxDtls>${parties}<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf></TxDtls>`;
    expect(await inEntry(returned)).toMatchObject([{ returnReason: 'AC04', party: { name: 'Payee' } }]);
    expect(await inEntry(returned.replace(/<Rsn>.*<\/Rsn>/, ''))).toMatchObject([{ returnReason: 'NARR' }]);
    const reversal = { amount: '5.00', isReversal: true, details: `<TxDtls>${parties}</TxDtls>` };
    expect(await entriesOf(cashReport('053', IBAN, [{ ...reversal, direction: 'DBIT' }]))).toMatchObject([
      { isReversal: true, direction: 'debit', party: { name: 'Payer' } },
    ]);
  });

  it('has any number of statements, and none of an entry that moves no money', async () => {
    expect((await read(cashReport('053', IBAN, []))).map(({ kind }) => kind)).toEqual(['message', 'statement']);
    const file = cashReport('053', IBAN, [{ amount: '1.00' }]);
    const twice = file.replace(/<Stmt>.*<\/Stmt>/, (statement) => statement + statement.replace('<Id>S1', '<Id>S2'));
    expect(await read(twice)).toMatchObject([{}, { id: 'S1' }, { amount: 100n }, { id: 'S2' }, { amount: 100n }]);
    const nothing = [{ amount: '0.00' }, { amount: '1.00', status: 'INFO' }];
    expect(await entriesOf(cashReport('053', IBAN, nothing))).toEqual([]);
  });
});

describe('a report of statuses', () => {
  const payment =
    '<TxInfAndSts><OrgnlEndToEndId>k1</OrgnlEndToEndId><TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf></TxInfAndSts>';
  const information = (inner: string) =>
    `<OrgnlPmtInfAndSts><OrgnlPmtInfId>P1</OrgnlPmtInfId>${inner}</OrgnlPmtInfAndSts>`;

  it.each(['03', '10', '13'])('is read as pain.002.001.%s, with prefixes', async (version) => {
    const file = statusReport('OUT-1', '<GrpSts>PART</GrpSts>', information(payment), version);
    const statuses = await statusesOf(file);
    expect(statuses).toMatchObject([
      { originalMessageId: 'OUT-1', status: 'PART' },
      { endToEndId: 'k1', paymentInformationId: 'P1', status: 'RJCT', reasonCode: 'AC04' },
    ]);
    expect(await statusesOf(prefixed(file))).toEqual(statuses);
  });

  it('is read as pain.002.001.02, whose payments are below the message', async () => {
    const file = statusReport(
      'OUT-1',
      '<GrpSts>PART</GrpSts>',
      payment.replace('<Rsn>', '<StsRsn>').replace('</Rsn>', '</StsRsn>'),
      '02',
    );
    const old = file.replaceAll('CstmrPmtStsRpt>', 'pain.002.001.02>');
    expect(await statusesOf(old)).toMatchObject([{}, { endToEndId: 'k1', status: 'RJCT', reasonCode: 'AC04' }]);
  });

  it('gives a payment without a status that of its PmtInf, or of the group', async () => {
    const named = '<TxInfAndSts><OrgnlEndToEndId>k1</OrgnlEndToEndId></TxInfAndSts>';
    const statusOf = async (group: string, inner: string) =>
      (await statusesOf(statusReport('OUT-1', group, information(inner)))).find(({ endToEndId }) => endToEndId)?.status;
    expect(await statusOf('<GrpSts>ACCP</GrpSts>', named)).toBe('ACCP');
    expect(await statusOf('<GrpSts>ACCP</GrpSts>', `<PmtInfSts>ACSP</PmtInfSts>${named}`)).toBe('ACSP');
    expect(await statusOf('<GrpSts>PART</GrpSts>', named)).toBeUndefined();
    expect(await statusOf('', named)).toBeUndefined();
  });
});
