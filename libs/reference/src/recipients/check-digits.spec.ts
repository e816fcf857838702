import { clabe } from 'clabe-validator';
import * as fc from 'fast-check';
import { countrySpecs, isValidIBAN } from 'ibantools';
import { CHECKS } from './accounts.js';
import { ibanFormatOf } from './iban-formats.js';

const digits = (length: number) => fc.stringMatching(new RegExp(`^[0-9]{${length}}$`));

describe('check digits', () => {
  it.each([
    ['iban', 'DE89370400440532013000', '', 2],
    ['aba', '021000021', '', 0],
    ['clabe', '032180000118359719', '', 0],
    ['cbu', '2850590940090418135201', '', 0],
    ['rib', '011519000001205000534921', '', 0],
    ['nuban', '0000014579', '011', 0],
    ['cnpj', '00038166000105', '', 0],
    ['cpf', '52998224725', '', 0],
  ] as const)('of %s are valid for %s, and invalid after any change of one digit', (check, number, code, from) => {
    const missed = [...number].flatMap((digit, place) =>
      [...'0123456789'].filter((other) => {
        const mistyped = number.slice(0, place) + other + number.slice(place + 1);
        return place >= from && other !== digit && CHECKS[check](mistyped, code)?.reason !== 'check_digits';
      }),
    );

    expect([CHECKS[check](number, code), missed]).toEqual([undefined, []]);
  });

  it('of CLABEs are those that another library calculates', () => {
    fc.assert(
      fc.property(digits(17), (body) => {
        const due = clabe.computeChecksum(body);
        return [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].every(
          (digit) => (CHECKS.clabe(`${body}${digit}`, '') === undefined) === (digit === due),
        );
      }),
    );
  });

  it('of IBANs are those that another library calculates', () => {
    const countries = Object.keys(countrySpecs).filter((country) => ibanFormatOf(country) !== undefined);
    for (const country of countries) {
      const { example = '' } = ibanFormatOf(country) ?? {};
      for (let pair = 0; pair < 100; pair += 1) {
        const iban = example.slice(0, 2) + String(pair).padStart(2, '0') + example.slice(4);
        expect([iban, CHECKS.iban(iban, '') === undefined]).toEqual([iban, isValidIBAN(iban)]);
      }
    }
  });

  it('of IBANs are one pair, although 97 more or less have the same remainder', () => {
    const pairs = Array.from({ length: 100 }, (_, pair) => String(pair).padStart(2, '0'));
    const fitting = Array.from({ length: 200 }, (_, account) => {
      return pairs.filter((pair) => !CHECKS.iban(`DE${pair}37040044${String(account).padStart(10, '0')}`, ''));
    });

    expect(fitting.filter(({ length }) => length !== 1)).toEqual([]);
    expect(fitting.flat()).toEqual(expect.arrayContaining(['02', '97', '98']));
  });

  it.each(['00000000000', '11111111111', '99999999999'])(
    'of the CPF %s are refused although they match, because such a CPF is never issued',
    (number) => {
      expect(CHECKS.cpf(number, '')?.reason).toBe('check_digits');
    },
  );
});
