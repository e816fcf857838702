import * as fc from 'fast-check';
import { type Movement, type Statement, type TransferAmount } from '@banking/domain';
import { statementCsv } from './statement-csv.js';
import { StatementError } from './statement-file.js';
import { statementOf } from './testing/statement-of.js';

/** RFC 4180 and nothing else, read character by character. @param separator what the program splits cells at */
function parse(text: string, separator = ','): string[][] {
  const rows: string[][] = [[]];
  let cell: string | undefined;
  let isQuoted = false;
  const end = () => {
    rows.at(-1)!.push(cell ?? '');
    cell = undefined;
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (isQuoted && character === '"' && text[at + 1] === '"') {
      cell = `${cell ?? ''}"`;
      at += 1;
    } else if (character === '"' && (isQuoted || cell === undefined)) {
      isQuoted = !isQuoted;
      cell ??= '';
    } else if (!isQuoted && character === separator) end();
    else if (!isQuoted && /[\r\n]/.test(character)) {
      end();
      rows.push([]);
      if (character === '\r' && text[at + 1] === '\n') at += 1;
    } else cell = `${cell ?? ''}${character}`;
  }
  return rows.slice(0, -1);
}

/** The rows of a table by the names of their columns. */
function read(statement: Statement): Record<string, string>[] {
  const [names = [], ...rows] = parse(statementCsv(statement).slice(1));
  return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? ''])));
}

const FORMULA = /^[ "\t\r\n]*[=+\-@＝＋－＠]/;
/** The characters that matter, close together. */
const texts = fc
  .array(fc.constantFrom(...'=+-@＝＋－＠;,"\'\t\r\n a1'), { maxLength: 12 })
  .map((parts) => parts.join(''));

describe('statementCsv', () => {
  it('begins with a byte order mark and the column names, and ends every line with CRLF', () => {
    const text = statementCsv(statementOf([{}, {}]));

    expect(text.startsWith('\ufeffline,accountCode,')).toBe(true);
    expect(text.endsWith('\r\n')).toBe(true);
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(text.split('\r\n')).toHaveLength(6);
  });

  it.each([
    ['EUR', '-12.34', '1250.00', '0.05'],
    ['JPY', '-1234', '125000', '5'],
    ['KWD', '-1.234', '125.000', '0.005'],
  ])('writes amounts in %s with its decimals, and negative amounts as numbers', (currency, debit, opening, fee) => {
    const [first, movement, last] = read(
      statementOf([{ direction: 'debit', amount: '1234' as never, feeAmount: '5' as never }], {
        currency,
        opening: 125_000,
      }),
    );

    expect(first).toMatchObject({ line: 'opening', valueDate: '2026-11-01', amount: opening, balance: opening });
    expect(movement).toMatchObject({
      line: 'movement',
      currency,
      direction: 'debit',
      amount: debit,
      amountMinorUnits: '-1234',
      feeAmount: fee,
      feeAmountMinorUnits: '5',
      balanceMinorUnits: '123766',
    });
    expect(last).toMatchObject({
      line: 'closing',
      valueDate: '2026-12-01',
      amount: '',
      amountMinorUnits: '',
      balanceMinorUnits: '123766',
    });
  });

  it('writes a debit of nothing and a balance of minus zero without a sign', () => {
    const statement = { ...statementOf([{ direction: 'debit', amount: '0' as TransferAmount }]), closingBalance: -0 };

    const [, movement, last] = read(statement as Statement);

    expect(movement).toMatchObject({ amount: '0.00', amountMinorUnits: '0' });
    expect(last).toMatchObject({ balance: '0.00', balanceMinorUnits: '0' });
  });

  it('writes each link of a movement to a column of its own, empty without a link', () => {
    const links = { orderID: 4, returnOf: 8, returnedBy: 12 };
    const [, linked, plain] = read(statementOf([links as Partial<Movement>, {}]));

    expect(linked).toMatchObject({ orderID: '4', returnOf: '8', returnedBy: '12' });
    expect(plain).toMatchObject({ orderID: '', returnOf: '', returnedBy: '' });
  });

  it('has amounts that add up to the balance of the last row', () => {
    const amounts = fc.record({ direction: fc.constantFrom('debit', 'credit'), amount: fc.nat(1_000_000).map(String) });
    fc.assert(
      fc.property(
        fc.array(amounts, { maxLength: 20 }),
        fc.integer({ min: -1_000, max: 1_000_000 }),
        (list, opening) => {
          const rows = read(statementOf(list as Partial<Movement>[], { opening }));
          const total = rows.reduce((sum, row) => sum + BigInt(row['amountMinorUnits'] || '0'), 0n);

          expect(String(total)).toBe(rows.at(-1)?.['balanceMinorUnits']);
          for (const { amount = '', amountMinorUnits = '' } of rows) {
            expect(amount.replace('.', '').replace(/^(-?)0+(?=\d)/, '$1')).toBe(amountMinorUnits);
          }
        },
      ),
    );
  });

  it('keeps plain text unchanged, also if it needs quotes', () => {
    const description = 'Rent, "Tor 3"\r\nsecond line; Žižkov 東京';
    const [, movement] = read(
      statementOf([{ description, recipientName: 'O’Neil - Sons', purpose: 'IR001' }], { alias: 'Haupt, Konto' }),
    );

    expect(movement).toMatchObject({
      description,
      recipientName: 'O’Neil - Sons',
      purpose: 'IR001',
      accountAlias: 'Haupt, Konto',
    });
  });

  it.each([
    ['=cmd|"/c calc"!A0', `'=cmd|"/c calc"!A0`],
    ['+49 30', `'+49 30`],
    ['-1', `'-1`],
    ['@SUM(A1)', `'@SUM(A1)`],
    ['\t=1', `'\t'=1`],
    ['\r=1', `'\r'=1`],
    ['＝1+1', `'＝1+1`],
    ['－1', `'－1`],
    [' =1', `' =1`],
    ['a;=1', `a;'=1`],
    ['a\n@b', `a\n'@b`],
    ['a=b', 'a=b'],
    ['2-1', '2-1'],
  ])('writes the text %j as the cell %j', (description, shown) => {
    const [, movement] = read(statementOf([{ description, recipientName: description }], { alias: description }));

    expect(movement).toMatchObject({ description: shown, recipientName: shown, accountAlias: shown });
  });

  it('begins no cell like a formula except amounts, for every separator a program may split at', () => {
    fc.assert(
      fc.property(texts, texts, texts, (description, recipientName, alias) => {
        const csv = statementCsv(statementOf([{ direction: 'debit', description, recipientName }], { alias })).slice(1);
        for (const separator of [',', ';', '\t']) {
          const cells = parse(csv, separator).flat();
          const formulas = cells.filter(
            (cell) => FORMULA.test(cell) && !(separator === ',' && /^-\d+(\.\d\d)?$/.test(cell)),
          );

          expect(formulas).toEqual([]);
        }
        expect(parse(csv).map(({ length }) => length)).toEqual([22, 22, 22, 22]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('ignores unknown fields of a movement that have the name of a column', () => {
    const more = { line: {}, currency: [1], accountCode: 'X', feeAmountMinorUnits: {}, balance: '7', colour: 'blue' };

    expect(statementCsv(statementOf([more as Partial<Movement>]))).toBe(statementCsv(statementOf([{}])));
  });

  it.each([
    ['the currency is none we know', { currency: 'XQX' }, '100'],
    ['the currency has no smallest unit', { currency: 'XAU' }, '100'],
    ['an amount is more than books can hold', {}, '9999999999999999999'],
  ])('throws an error and no refusal when %s', (_, options, feeAmount) => {
    expect(() => statementCsv(statementOf([{ feeAmount: feeAmount as TransferAmount }], options))).toThrow(
      StatementError,
    );
  });
});
