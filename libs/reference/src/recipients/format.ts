import type { Source } from '../source.js';

/** The fault of a well-formed number: a stable code, and a sentence that continues after the name of the field. */
export interface Fault {
  readonly reason: 'check_digits' | 'national_check_digits' | 'qr_iban';
  readonly message: string;
}

export const MISTYPED: Fault = {
  reason: 'check_digits',
  message: 'has check digits that do not fit: at least one character is wrong.',
};

/** The rules that a pattern cannot express. Each is an entry of `CHECKS` in `accounts.ts`. */
export type Check = 'iban' | 'aba' | 'clabe' | 'cbu' | 'nuban' | 'rib' | 'cpf' | 'cnpj';

/** The format of one kind of account number or routing code. */
export interface Format {
  /** For people: `IBAN`, `Sort code`. */
  readonly name: string;
  /** The rule of the pattern in words, to follow a colon. */
  readonly rule: string;
  /** ECMA-262 with the `u` flag, anchored at both ends. Matching takes linear time. */
  readonly pattern: string;
  /** Only if the pattern does not limit the length. */
  readonly maxLength?: number;
  /** Passes the pattern and the check. It is the example of the standard if there is one, and not a real account. */
  readonly example: string;
  readonly check?: Check;
  readonly source: Source;
}

/** From `from` to `to` digits. */
export function digits(name: string, from: number, to: number, example: string, source: Source): Format {
  const [rule, times] = from === to ? [`${from} digits`, `${from}`] : [`${from} to ${to} digits`, `${from},${to}`];
  return { name, rule: `${rule}, without spaces or hyphens`, pattern: `^[0-9]{${times}}$`, example, source };
}

/** A code of the bank, optionally followed by the branch. */
export function bankAndBranch(name: string, bank: number, branch: number, example: string, source: Source): Format {
  return {
    name,
    rule: `${bank} digits for the bank, or ${bank + branch} with its branch, without spaces or hyphens`,
    pattern: `^[0-9]{${bank}}(?:[0-9]{${branch}})?$`,
    example,
    source,
  };
}
