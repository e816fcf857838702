import * as fc from 'fast-check';
import { minorUnits, toDecimal } from '@banking/domain';
import { type Payment, uetrOf } from '@banking/payouts';
import { type BankDialect, DEFAULT_DIALECT, PAYMENT_MESSAGES } from '../rail-config.js';
import { anyDialect, anyPayments, filePayment, fileRailConfig } from '../testing/file-rails.js';
import { pain001Mistakes } from '../testing/pain-001-schema.js';
import { endToEndIdOf } from './end-to-end-id.js';
import { contentInFile, UnwritablePaymentError } from './payment-content.js';
import { paymentsOfFile } from './sent-files.js';
import { countWithinSum, groupOf, type PaymentInFile, writePain001 } from './write-pain-001.js';

const { accounts: configured } = fileRailConfig();
const ADDRESS = { streetName: 'Pier', buildingNumber: '1', postCode: '20457', townName: 'Hamburg', country: 'DE' };
const accounts = configured.map((account) => ({ ...account, holderAddress: ADDRESS }));
const CREATED_AT = Date.parse('2026-11-26T10:00:00Z');

function fileOf(payments: readonly Payment[], dialect: BankDialect): readonly PaymentInFile[] {
  const groups: string[] = [];
  return payments.flatMap((payment) => {
    const content = contentIn(payment, dialect);
    if (!content) return [];
    const { key, amount, currency } = payment;
    const written = { key, endToEndId: endToEndIdOf(key), amount, currency, content };
    const group = groupOf(written);
    if (!groups.includes(group)) groups.push(group);
    return [{ ...written, paymentInformationId: `M1-${groups.indexOf(group) + 1}` }];
  });
}

function contentIn(payment: Payment, dialect: BankDialect) {
  try {
    return contentInFile(payment, accounts, dialect);
  } catch (error) {
    if (error instanceof UnwritablePaymentError) return undefined;
    throw error;
  }
}

const write = (payments: readonly PaymentInFile[], dialect: BankDialect) =>
  writePain001({ messageId: 'M1', createdAtMs: CREATED_AT, sender: 'Harbour Ltd', payments }, dialect);

const written = (payments: readonly Payment[], more: Partial<BankDialect> = {}) => {
  const dialect = { ...DEFAULT_DIALECT, ...more };
  return write(fileOf(payments, dialect), dialect);
};

/** The texts of the elements of a name. */
const textsOf = (xml: string, name: string) =>
  [...xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>([^<]*)</${name}>`, 'g'))].map(([, text]) => text);

const scaled = (amount: bigint, currency: string) =>
  amount * 10n ** BigInt(5 - (toDecimal(minorUnits(1n), currency).split('.')[1]?.length ?? 0));
const sumOf = (texts: readonly string[]) =>
  texts.reduce((sum, text) => {
    const [whole = '', fraction = ''] = text.split('.');
    return sum + BigInt(whole + fraction.padEnd(5, '0'));
  }, 0n);

describe('a file of payments', () => {
  it('says what the payments are: read again, it has the same ids, amounts, counts and sums', () => {
    fc.assert(
      fc.property(anyPayments, anyDialect, (list, dialect) => {
        const inFile = fileOf(list, dialect);
        fc.pre(inFile.length > 0);
        const xml = write(inFile, dialect);
        const expected = inFile.map(({ endToEndId, amount, currency, paymentInformationId }) => ({
          ...{ endToEndId, amount, currency, paymentInformationId },
        }));
        const byId = (one: { endToEndId: string }, other: { endToEndId: string }) =>
          one.endToEndId < other.endToEndId ? -1 : 1;
        expect([...(paymentsOfFile(xml) ?? [])].sort(byId)).toEqual(expected.sort(byId));

        const [total, ...groups] = textsOf(xml, 'CtrlSum').map((text) => sumOf([text!]));
        const amount = inFile.reduce((sum, one) => sum + scaled(one.amount, one.currency), 0n);
        expect(total).toBe(amount);
        expect(groups.reduce((sum, one) => sum + one, 0n)).toBe(amount);
        const [count, ...counts] = textsOf(xml, 'NbOfTxs').map(Number);
        expect(count).toBe(inFile.length);
        expect(counts.reduce((sum, one) => sum + one, 0)).toBe(inFile.length);
      }),
    );
  });

  it.each(PAYMENT_MESSAGES)('is valid by the schema of %s', (message) => {
    const files = fc
      .sample(fc.tuple(anyPayments, anyDialect), { numRuns: 300, seed: 20022 })
      .map(([list, dialect]) => [list, { ...dialect, message }] as const)
      .map(([list, dialect]) => [fileOf(list, dialect), dialect] as const)
      .filter(([list]) => list.length > 0)
      .map(([list, dialect]) => write(list, dialect));

    expect(files.length).toBeGreaterThan(100);
    expect(pain001Mistakes(message, files).filter((mistake) => mistake !== '')).toEqual([]);
  });

  it('is refused by that schema with two elements in the wrong order, and with an element of the other message', () => {
    const xml = written([filePayment(1)]);
    const swapped = xml.replace(/(<Cdtr>.*<\/Cdtr>)(<CdtrAcct>.*<\/CdtrAcct>)/, '$2$1');
    const old = xml.replaceAll('BICFI', 'BIC');
    const [valid, ...mistakes] = pain001Mistakes('pain.001.001.09', [xml, swapped, old]);

    expect(swapped).not.toBe(xml);
    expect(valid).toBe('');
    expect(mistakes).toEqual([expect.stringMatching(/Cdtr\b.*not expected/), expect.stringMatching(/BIC/)]);
  });

  it('is the message of the EPC for a SEPA payment', () => {
    const own = { key: 'payout-7-1-0123456789ab' };
    expect(written([filePayment(1)])).toBe(
      `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn>` +
        '<GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-11-26T10:00:00+00:00</CreDtTm><NbOfTxs>1</NbOfTxs><CtrlSum>123.45</CtrlSum>' +
        '<InitgPty><Nm>Harbour Ltd</Nm></InitgPty></GrpHdr><PmtInf><PmtInfId>M1-1</PmtInfId><PmtMtd>TRF</PmtMtd><NbOfTxs>1</NbOfTxs>' +
        '<CtrlSum>123.45</CtrlSum><PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf><ReqdExctnDt><Dt>2026-11-26</Dt></ReqdExctnDt>' +
        '<Dbtr><Nm>Harbour Ltd</Nm><PstlAdr><StrtNm>Pier</StrtNm><BldgNb>1</BldgNb><PstCd>20457</PstCd><TwnNm>Hamburg</TwnNm>' +
        '<Ctry>DE</Ctry></PstlAdr></Dbtr><DbtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id><Ccy>EUR</Ccy></DbtrAcct>' +
        '<DbtrAgt><FinInstnId><BICFI>COBADEFFXXX</BICFI></FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr><CdtTrfTxInf>' +
        `<PmtId><InstrId>${own.key}</InstrId><EndToEndId>${own.key}</EndToEndId><UETR>${uetrOf(own.key)}</UETR></PmtId>` +
        '<Amt><InstdAmt Ccy="EUR">123.45</InstdAmt></Amt><CdtrAgt><FinInstnId><BICFI>SOGEDEFF</BICFI></FinInstnId></CdtrAgt>' +
        '<Cdtr><Nm>Ravi Menon</Nm></Cdtr><CdtrAcct><Id><IBAN>DE75512108001245126199</IBAN></Id></CdtrAcct>' +
        '<RmtInf><Ustrd>Invoice 1</Ustrd></RmtInf></CdtTrfTxInf></PmtInf></CstmrCdtTrfInitn></Document>\n',
    );
  });

  it('has a part for each debtor account and service level, with its own charges and day', () => {
    const abroad = { ...filePayment(1).creditor, account: 'AE070331234567890123456' };
    const xml = written(
      [
        filePayment(1),
        filePayment(2, { creditor: abroad }),
        filePayment(3),
        filePayment(4, { currency: 'JPY', amount: minorUnits(5_000n) }),
      ],
      { holidays: { JPY: ['2026-11-26'] } },
    );

    expect(textsOf(xml, 'PmtInfId')).toEqual(['M1-1', 'M1-2', 'M1-3']);
    expect(textsOf(xml, 'ChrgBr')).toEqual(['SLEV', 'SHAR', 'SHAR']);
    expect(textsOf(xml, 'Dt')).toEqual(['2026-11-26', '2026-11-26', '2026-11-27']);
    expect(textsOf(xml, 'NbOfTxs')).toEqual(['4', '2', '1', '1']);
    expect(textsOf(xml, 'CtrlSum')).toEqual(['5370.35', '246.90', '123.45', '5000']);
  });

  it('is of version 3 where the bank wants that: no UETR, a plain date, another name for a BIC', () => {
    const xml = written([filePayment(1)], { message: 'pain.001.001.03' });

    expect(xml).toContain('<ReqdExctnDt>2026-11-26</ReqdExctnDt>');
    expect(xml).toContain('<BIC>SOGEDEFF</BIC>');
    expect(xml).not.toMatch(/UETR|BICFI/);
  });

  it('names no bank of a SEPA payment without a BIC, and NOTPROVIDED of any other', () => {
    const without = { ...filePayment(1).creditor, routing: undefined };
    expect(written([filePayment(1, { creditor: without })])).not.toContain('CdtrAgt');
    expect(written([filePayment(1, { creditor: without, currency: 'USD' })])).toContain(
      '<CdtrAgt><FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId></CdtrAgt>',
    );
  });

  it('asks for one entry on the statement or for one of each payment only where that is set', () => {
    const bookings = [undefined, true, false].map((batchBooking) =>
      textsOf(written([filePayment(1)], { batchBooking }), 'BtchBookg'),
    );
    expect(bookings).toEqual([[], ['true'], ['false']]);
  });

  it('carries no more payments than its sum has digits for', () => {
    const large = (currency: string, digits: number) => ({ currency, amount: minorUnits(10n ** BigInt(digits) - 1n) });
    expect(countWithinSum([large('EUR', 18), large('EUR', 1)])).toBe(1);
    expect(countWithinSum([large('JPY', 15), large('JPY', 15), large('KWD', 1)])).toBe(2);
    expect(countWithinSum(Array.from({ length: 1_000 }, () => large('EUR', 14)))).toBe(1_000);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('EUR', 'JPY', 'KWD'), fc.integer({ min: 1, max: 18 }))), (list) => {
        const amounts = list.map(([currency, digits]) => large(currency, digits));
        const count = countWithinSum(amounts);
        expect(count).toBeGreaterThanOrEqual(Math.min(1, amounts.length));
        expect(count).toBeLessThanOrEqual(amounts.length);
      }),
    );
  });

  it('has what banks demand: double quotes in the declaration, no underscore in an id, sums in each part, and nothing empty', () => {
    fc.assert(
      fc.property(anyPayments, anyDialect, (list, dialect) => {
        const inFile = fileOf(list, dialect);
        fc.pre(inFile.length > 0);
        const xml = write(inFile, dialect);
        expect(xml.startsWith('<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="')).toBe(true);
        for (const name of ['MsgId', 'PmtInfId', 'InstrId', 'EndToEndId']) {
          for (const id of textsOf(xml, name)) expect(id).toMatch(/^[A-Za-z0-9-]{1,35}$/);
        }
        expect(textsOf(xml, 'CtrlSum')).toHaveLength(1 + textsOf(xml, 'PmtInfId').length);
        expect(xml).not.toMatch(/<(\w+)><\/\1>|<\w+\/>/);
      }),
    );
  });
});
