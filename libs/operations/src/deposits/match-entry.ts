import type { WorkspaceId } from '@banking/domain';

/** A bank account of the deployment that payers pay to. */
export interface ReceivingAccount {
  /** Of the payment network that it belongs to. */
  readonly rail: string;
  /** ISO 4217. */
  readonly currency: string;
  /** The IBAN, or the number as the bank writes it. */
  readonly id: string;
  readonly isIban: boolean;
  readonly bic: string;
  readonly holder: string;
  /** The code of the account of a customer that gets deposits which name no other. */
  readonly suspenseAccount?: string | undefined;
}

/** What an entry of a bank account says of whom its money is for. */
export interface RemittanceTexts {
  readonly creditorReference: string | undefined;
  readonly remittance: string | undefined;
}

/** An account that a code names. */
export interface NamedAccount {
  readonly workspaceId: WorkspaceId;
  readonly accountId: number;
  readonly currencyId: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** The longest text of words that may be a code. Codes of accounts have 18 characters, and a payer may write them in groups. */
const CODE_MAX = 34;

/** A text of more words is no remittance of a payment: 140 characters (ISO 20022), which some banks repeat. */
const WORDS_MAX = 400;

/** `RF`, two check digits and the reference (ISO 11649:2009). */
const CREDITOR_REFERENCE = /^RF[0-9]{2}([A-Z0-9]{1,21})$/;

/** A code in capitals and without spaces, as payers may not write it. */
export const normalCode = (text: string): string => text.toUpperCase().replace(/\s+/g, '');

/**
 * The codes that a structured creditor reference may be: itself, or what is in a reference of ISO 11649 whose check digits are right. A
 * wrong digit leads to no account.
 */
function codesOfReference(creditorReference: string | undefined): readonly string[] {
  if (creditorReference === undefined) return [];
  const code = normalCode(creditorReference);
  const [, inner] = CREDITOR_REFERENCE.exec(code) ?? [];
  return inner !== undefined && hasCheckDigits(code) ? [code, inner] : [code];
}

/** The check digits of ISO 11649: ISO 7064 MOD 97-10 of the reference, followed by `RF` and the digits. */
function hasCheckDigits(reference: string): boolean {
  const moved = reference.slice(4) + reference.slice(0, 4);
  const digits = [...moved].map((character) => Number.parseInt(character, 36)).join('');
  return BigInt(digits) % 97n === 1n;
}

/** The codes that an unstructured text may have: each word, and each run of words between which are only spaces. */
export function codesOfText(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  const codes = new Set<string>();
  // Words beside another character than a space are of different runs.
  for (const run of text.toUpperCase().split(/[^A-Z0-9\s]+/)) {
    const words = run
      .split(/\s+/)
      .filter((word) => word !== '')
      .slice(0, WORDS_MAX);
    for (const [start, first] of words.entries()) {
      let code = first;
      for (let next = start + 1; code.length <= CODE_MAX; next += 1) {
        codes.add(code);
        const word = words[next];
        if (word === undefined) break;
        code += word;
      }
    }
  }
  return [...codes];
}

/** All codes that an entry may name. */
export const codesOf = ({ creditorReference, remittance }: RemittanceTexts): readonly string[] => [
  ...codesOfReference(creditorReference),
  ...codesOfText(remittance),
];

/**
 * The account that the money of an entry is for: that of its structured reference, or else the only one that its text names. Undefined
 * if that is none or several: money is never given to one of two.
 *
 * @param accounts by code
 */
export function matchEntry(
  { creditorReference, remittance }: RemittanceTexts,
  accounts: ReadonlyMap<string, NamedAccount>,
): NamedAccount | undefined {
  return only(codesOfReference(creditorReference), accounts) ?? only(codesOfText(remittance), accounts);
}

function only(codes: readonly string[], accounts: ReadonlyMap<string, NamedAccount>): NamedAccount | undefined {
  const named = new Map(
    codes.flatMap((code) => {
      const account = accounts.get(code);
      return account ? [[account.accountId, account] as const] : [];
    }),
  );
  return named.size === 1 ? [...named.values()][0] : undefined;
}
