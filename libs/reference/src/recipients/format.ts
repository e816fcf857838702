import type { Source } from '../source.js';

/** The rules a pattern can not say; each one is a function of `check-digits.ts`. */
export type Check = 'iban' | 'aba' | 'clabe' | 'cbu' | 'nuban' | 'rib' | 'cpf' | 'cnpj';

/** How one kind of account number or routing code is written. */
export interface Format {
  /** What people call it: `IBAN`, `Sort code`. */
  readonly name: string;
  /** The rule in words, to stand behind a colon. It says what the pattern says. */
  readonly rule: string;
  /** ECMA-262 with the `u` flag, anchored at both ends. A text of any length takes a number of steps in proportion to it. */
  readonly pattern: string;
  /** Only where the pattern has no end of its own. */
  readonly maxLength?: number;
  /** Fits the pattern and the check. Taken from the standard where it gives one; nobody's account that we know of. */
  readonly example: string;
  readonly check?: Check;
  readonly source: Source;
}

/** Digits and nothing else, as many as `from` to `to`. */
export function digits(name: string, from: number, to: number, example: string, source: Source): Format {
  const [rule, times] = from === to ? [`${from} digits`, `${from}`] : [`${from} to ${to} digits`, `${from},${to}`];
  return { name, rule: `${rule}, without spaces or hyphens`, pattern: `^[0-9]{${times}}$`, example, source };
}

/** A code that names the bank and, where it goes on, the branch. */
export function bankAndBranch(name: string, bank: number, branch: number, example: string, source: Source): Format {
  return {
    name,
    rule: `${bank} digits for the bank, or ${bank + branch} with its branch, without spaces or hyphens`,
    pattern: `^[0-9]{${bank}}(?:[0-9]{${branch}})?$`,
    example,
    source,
  };
}
