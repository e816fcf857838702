import { validate as abaFits } from 'abavalidator';
import { MISTYPED, type Fault } from './fault.js';
import type { Check } from './format.js';
import { ibanFault } from './iban.js';

/**
 * The rules that a pattern cannot express. Each takes a text that matches its pattern and, for NUBAN, the routing code.
 *
 * CLABE, CBU and NUBAN share one weighted sum with different weights. The library for CLABEs is not used, because it refuses
 * banks that it does not list.
 */
export const CHECKS: Readonly<Record<Check, (number: string, routingCode: string) => Fault | undefined>> = {
  iban: ibanFault,
  aba: (number) => (abaFits(number) ? undefined : MISTYPED),
  clabe: (number) => unless(number.at(-1) === tensComplement(number.slice(0, -1), '371')),
  cbu: (number) =>
    unless(
      number.at(7) === tensComplement(number.slice(0, 7), '7139713') &&
        number.at(-1) === tensComplement(number.slice(8, -1), '3971397139713'),
    ),
  // The standard of 2011 includes the three digits of the bank. Longer codes belong to institutions outside of it.
  nuban: (number, routingCode) =>
    unless(routingCode.length !== 3 || number.at(-1) === tensComplement(routingCode + number.slice(0, -1), '373')),
  rib: (number) => unless(BigInt(number) % 97n === 0n),
  cpf: (number) => unless(number === withElevens(number.slice(0, 9), 11) && new Set(number).size > 1),
  cnpj: (number) => unless(number === withElevens(number.slice(0, 12), 9) && new Set(number).size > 1),
};

function unless(fits: boolean): Fault | undefined {
  return fits ? undefined : MISTYPED;
}

/** The digit that completes the weighted sum to a multiple of ten. The weights are digits, and repeat. */
function tensComplement(digits: string, weights: string): string {
  const sum = [...digits].reduce(
    (total, digit, index) => total + Number(digit) * Number(weights[index % weights.length]),
    0,
  );
  return String((10 - (sum % 10)) % 10);
}

/**
 * A CPF or CNPJ with its two correct check digits: modulo 11 with weights 2, 3, … from the right, repeated after
 * `weightMax`. A letter counts as its ASCII code less 48 (Receita Federal, for CNPJs since July 2026).
 */
function withElevens(body: string, weightMax: number): string {
  let text = body;
  for (let round = 0; round < 2; round += 1) {
    const fromRight = [...text].reverse();
    const sum = fromRight.reduce((total, char, index) => {
      return total + (char.charCodeAt(0) - 48) * ((index % (weightMax - 1)) + 2);
    }, 0);
    text += sum % 11 < 2 ? '0' : String(11 - (sum % 11));
  }
  return text;
}
