import * as fc from 'fast-check';
import { fromBalanceAmount, type Movement, type TransferAmount } from '@banking/domain';
import { statementCamt } from './statement-camt.js';
import { StatementError } from './statement-file.js';
import { schemaMistakes } from './testing/schema-mistakes.js';
import { statementOf } from './testing/statement-of.js';

const AT = '2026-12-01T08:00:00.000Z';
const WHOLE = { isFirst: true, isLast: true };

const camtOf = (...given: Parameters<typeof statementOf>) => statementCamt(statementOf(...given), WHOLE, AT);

const textsOf = (message: string, element: string): string[] =>
  [...message.matchAll(new RegExp(`<${element}(?: [^>]*)?>([^<]*)</${element}>`, 'g'))].map(([, text = '']) => text);

const entriesOf = (message: string): string[] => message.match(/<Ntry>.*?<\/Ntry>/gs) ?? [];

/** The digits of an amount in minor units. */
const minor = (amount: string): bigint => BigInt(amount.replace('.', ''));

const signedOf = (element: string): bigint => {
  const [amount = ''] = textsOf(element, 'Amt');
  return textsOf(element, 'CdtDbtInd')[0] === 'DBIT' ? -minor(amount) : minor(amount);
};

const texts = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 });
const movements = fc.array(
  fc.record(
    {
      direction: fc.constantFrom('debit', 'credit'),
      amount: fc.bigInt({ min: 1n, max: 10n ** 12n }).map((amount) => amount.toString() as TransferAmount),
      type: fc.constantFrom('payout', 'fee', 'return', 'internal', 'funding', 'something new'),
      description: texts,
      purpose: fc.constantFrom('SUPP', 'IR001', 'x'.repeat(60)),
      recipientName: texts,
      orderID: fc.integer({ min: 1 }),
    },
    { requiredKeys: ['direction', 'amount', 'type'] },
  ),
  { maxLength: 12 },
) as fc.Arbitrary<readonly object[]> as fc.Arbitrary<readonly Partial<Movement>[]>;
const currencies = fc.constantFrom('EUR', 'JPY', 'KWD');

describe('the camt.053 message of a statement', () => {
  it('has the sums, the ids and the balances of the statement', () => {
    fc.assert(
      fc.property(movements, currencies, fc.integer({ min: -1_000, max: 1_000 }), (list, currency, opening) => {
        const statement = statementOf(list, { currency, opening });
        const message = statementCamt(statement, WHOLE, AT);
        const [first = '', last = ''] = message.match(/<Bal>.*?<\/Bal>/gs) ?? [];
        const entries = entriesOf(message);

        expect([signedOf(first), signedOf(last)]).toEqual([
          BigInt(opening),
          fromBalanceAmount(statement.closingBalance),
        ]);
        expect(entries.reduce((sum, entry) => sum + signedOf(entry), BigInt(opening))).toBe(signedOf(last));
        expect(entries.map((entry) => textsOf(entry, 'NtryRef')[0])).toEqual(
          statement.movements.map(({ id }) => String(id)),
        );
        expect(new Set(message.match(/(?<=Ccy=")[A-Z]+/g))).toEqual(new Set([currency]));
      }),
      { numRuns: 200 },
    );
  });

  it('agrees with the schema of ISO 20022', () => {
    const messages = fc
      .sample(fc.tuple(movements, currencies), { numRuns: 60, seed: 53 })
      .map(([list, currency]) => camtOf(list, { currency }));
    const period = { from: '2026-11-01T00:00:00+05:30', to: '2026-12-01T00:00:00.123Z', basis: 'booking' } as const;
    const between = statementCamt({ ...statementOf([{}]), ...period }, WHOLE, AT);

    expect(schemaMistakes([...messages, between]).filter((mistake) => mistake !== '')).toEqual([]);
    expect(schemaMistakes([between.replace('<Sts><Cd>BOOK</Cd></Sts>', '')])[0]).toMatch(/BookgDt.*not expected/s);
  });

  it('is the same in parts', () => {
    const statement = statementOf([{}, {}, {}]);
    const part = (from: number, to: number, isFirst: boolean, isLast: boolean) =>
      statementCamt({ ...statement, movements: statement.movements.slice(from, to) }, { isFirst, isLast }, AT);

    expect(part(0, 1, true, false) + part(1, 2, false, false) + part(2, 3, false, true)).toBe(
      statementCamt(statement, WHOLE, AT),
    );
  });

  it('names the parties, the purpose and the texts of a payment', () => {
    const [entry = ''] = entriesOf(
      camtOf([
        {
          direction: 'debit',
          type: 'payout',
          description: `Invoice <7> & "${'x'.repeat(200)}"`,
          purpose: 'SUPP',
          recipientName: 'Müller & Söhne',
          orderID: 4 as NonNullable<Movement['orderID']>,
        },
      ]),
    );

    expect(entry).toContain('<Cdtr><Pty><Nm>Müller &amp; Söhne</Nm></Pty></Cdtr>');
    expect(entry).toContain('<Purp><Cd>SUPP</Cd></Purp>');
    expect(textsOf(entry, 'InstrId')).toEqual(['4']);
    expect(textsOf(entry, 'Ustrd').map((line) => line.slice(0, 20))).toEqual(['Invoice &lt;7&gt; &a', 'x'.repeat(20)]);
    expect(entry).toContain('<Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>OTHR</SubFmlyCd></Fmly></Domn>');
  });

  it.each([
    ['fee', 'ACMT MDOP CHRG'],
    ['return', 'PMNT RCDT RRTN'],
    ['internal', 'PMNT RCDT BOOK'],
    ['a later type', 'PMNT RCDT OTHR'],
  ])('has the bank transaction code of a %s: %s', (type, codes) => {
    const [entry = ''] = entriesOf(camtOf([{ type }]));
    const [domain = ''] = /<Domn>.*<\/Domn>/.exec(entry) ?? [];

    expect([...textsOf(domain, 'Cd'), ...textsOf(domain, 'SubFmlyCd')].join(' ')).toBe(codes);
    expect(entry).toContain(`<Prtry><Cd>${type}</Cd></Prtry>`);
  });

  it('replaces what XML cannot contain, such as another deployment may send', () => {
    const message = camtOf([{ description: 'a\u0000b\ud800c\uffffd\re' }]);

    expect(textsOf(message, 'Ustrd')).toEqual(['a\ufffdb\ufffdc\ufffdd\ufffde']);
  });

  it('dates its balances by the day or instant, and has an interim balance until its period has ended', () => {
    const balances = (message: string) =>
      (message.match(/<Bal>.*?<\/Bal>/gs) ?? []).map((one) =>
        [...textsOf(one, 'Cd'), ...textsOf(one, 'Dt'), ...textsOf(one, 'DtTm')].join(' '),
      );
    const [from, to] = ['2026-11-01T00:00:00+05:30', '2026-12-01T00:00:00+05:30'];
    const between = { ...statementOf([{}]), from, to, basis: 'booking' as const };

    expect(balances(camtOf([{}]))).toEqual(['OPBD 2026-11-01', 'CLBD 2026-11-30']);
    expect(balances(statementCamt(between, WHOLE, AT))).toEqual([`OPBD ${from}`, `CLBD ${to}`]);
    expect(balances(statementCamt(statementOf([{}]), WHOLE, '2026-11-20T08:00:00Z'))).toEqual([
      'OPBD 2026-11-01',
      'ITBD 2026-11-20T08:00:00Z',
    ]);
  });

  it('leaves out empty texts, such as another deployment may send', () => {
    const statement = statementOf([{ description: '', purpose: '', recipientName: '', type: '' }], { alias: '' });

    expect(schemaMistakes([statementCamt(statement, WHOLE, AT)])).toEqual(['']);
  });

  it('has one id for one statement, once its period has ended', () => {
    const idAt = (at: string) => textsOf(statementCamt(statementOf([{}]), WHOLE, at), 'Id')[0];

    expect(idAt(AT)).toBe(idAt('2027-01-01T00:00:00Z'));
    expect(idAt('2026-11-20T08:00:00Z')).not.toBe(idAt('2026-11-20T08:00:01Z'));
  });

  it('has another message id for each message', () => {
    const [first, second] = [AT, '2026-12-02T08:00:00Z'].map((at) =>
      textsOf(statementCamt(statementOf([]), WHOLE, at), 'MsgId'),
    );

    expect(first).not.toEqual(second);
  });

  it.each([
    ['an amount is more than books can hold', { amount: '9999999999999999999' as TransferAmount }, 'EUR'],
    ['an amount has more digits than the message allows', { amount: '1000000000000000000' as TransferAmount }, 'EUR'],
    ['the currency has no decimals', {}, 'XAU'],
  ])('throws an error and no refusal when %s', (_, movement, currency) => {
    const { movements: list, ...rest } = statementOf([{}], { currency });
    const changed = { ...rest, movements: list.map((one) => ({ ...one, ...movement })) };

    expect(() => statementCamt(changed, WHOLE, AT)).toThrow(StatementError);
  });
});
