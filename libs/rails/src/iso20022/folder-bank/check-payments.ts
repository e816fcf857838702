import { isValidBIC, isValidIBAN } from 'ibantools';
import { decimalsOf, isCurrencyCode, parseAmount } from '@banking/domain';
import { isBankDay } from '../bank-days.js';
import type { InstructedPayment, Institution, Party, PaymentGroup, PaymentMessage } from './read-payment-message.js';

/** Why a message, a group or a payment is rejected: ISO 20022 ExternalStatusReason1Code, and a sentence that quotes nothing. */
export interface Reason {
  readonly code: string;
  readonly text: string;
}

/** The faults of a message, in its order. */
export interface Verdict {
  readonly reason?: Reason | undefined;
  readonly groups: readonly {
    readonly reason?: Reason | undefined;
    readonly payments: readonly (Reason | undefined)[];
  }[];
}

/** A file of before midnight is still one of its day. */
const GRACE_MS = 60 * 60_000;

/** Checks a message as a bank does before it carries it out. A duplicate is found by the caller. */
export function checkPayments(message: PaymentMessage, now: Date): Verdict {
  const reason =
    faultOfTotals(
      message,
      message.groups.flatMap(({ payments }) => payments),
    ) ?? faultOfId(message.id);
  const seen = new Set<string>();
  const groups = message.groups.map((group) => ({
    reason: faultOfGroup(group, now),
    payments: group.payments.map((payment) => {
      const isRepeated = seen.has(payment.endToEndId);
      seen.add(payment.endToEndId);
      if (isRepeated) return { code: 'DU04', text: 'Another payment of the message has the same EndToEndId.' };
      return faultOfPayment(payment, group);
    }),
  }));
  return { reason, groups };
}

function faultOfGroup(group: PaymentGroup, now: Date): Reason | undefined {
  if (group.method !== 'TRF') return { code: 'FF01', text: 'The payment method is not TRF.' };
  return (
    faultOfTotals(group, group.payments) ??
    faultOfId(group.id) ??
    faultOfAccount(group.debtor, 'AC02', 'debtor') ??
    faultOfBank(group.debtorBank, 'debtor') ??
    faultOfAddress(group.debtor, 'BE07', 'debtor') ??
    faultOfDay(group, now)
  );
}

function faultOfPayment(payment: InstructedPayment, group: PaymentGroup): Reason | undefined {
  const { creditor, creditorBank, currency, endToEndId, instructionId } = payment;
  if (!isCurrencyCode(currency)) return { code: 'AM11', text: 'The currency is not one of ISO 4217.' };
  const [, fraction = ''] = payment.amount.split('.');
  if (fraction.length > decimalsOf(currency))
    return { code: 'AM12', text: 'The amount has more decimals than its currency.' };
  if (!isStorable(payment.amount, currency)) return { code: 'AM12', text: 'The amount is too large.' };
  if (/^[0.]*$/.test(payment.amount)) return { code: 'AM01', text: 'The amount is zero.' };
  if (group.debtorCurrency !== undefined && group.debtorCurrency !== currency) {
    return { code: 'AM11', text: 'The debtor account has another currency.' };
  }
  if (creditor.name === undefined) return { code: 'BE22', text: 'The creditor has no name.' };
  return (
    faultOfId(endToEndId) ??
    (instructionId === undefined ? undefined : faultOfId(instructionId)) ??
    faultOfAccount(creditor, 'AC01', 'creditor') ??
    (creditorBank && faultOfBank(creditorBank, 'creditor')) ??
    faultOfAddress(creditor, 'BE04', 'creditor') ??
    faultOfTexts(payment)
  );
}

function isStorable(amount: string, currency: string): boolean {
  try {
    parseAmount(withoutZeros(amount), currency);
    return true;
  } catch {
    return false;
  }
}

/** A decimal of XML may begin with zeros. */
export const withoutZeros = (decimal: string): string => decimal.replace(/^0+(?=\d)/, '');

interface Totalled {
  readonly count?: string | undefined;
  readonly sum?: string | undefined;
}

/** `CtrlSum` adds amounts up whatever their currencies are. */
function faultOfTotals({ count, sum }: Totalled, payments: readonly InstructedPayment[]): Reason | undefined {
  if (count !== undefined && BigInt(count) !== BigInt(payments.length)) {
    return { code: 'AM18', text: 'The number of payments is not that of NbOfTxs.' };
  }
  const total = payments.reduce((before, { amount }) => before + scaled(amount), 0n);
  if (sum !== undefined && scaled(sum) !== total)
    return { code: 'AM10', text: 'The amounts do not add up to CtrlSum.' };
  return undefined;
}

/** A decimal in parts of 10^-17, the most decimals that a sum may have. */
function scaled(decimal: string): bigint {
  const [whole = '', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(17, '0'));
}

/** The Latin characters of SEPA: EPC217-08, 2012. */
const LATIN = /^[A-Za-z0-9/\-?:().,'+ ]*$/;
/** Those, and what SWIFT takes in names, addresses and remittance information: CBPR+ usage guidelines, 2025. */
const EXTENDED = /^[A-Za-z0-9/\-?:().,'+ !#$%&*=^_`{|}~";<>@[\\\]]*$/;

/** References do not begin or end with a slash, and have no two after each other (EPC). */
const faultOfId = (id: string): Reason | undefined =>
  LATIN.test(id) && !/^\/|\/$|\/\//.test(id)
    ? undefined
    : { code: 'RR10', text: 'A reference has characters that the bank does not take.' };

function faultOfTexts({
  creditor,
  remittance,
  creditorReference = '',
  serviceLevel,
}: InstructedPayment): Reason | undefined {
  const { name = '', address } = creditor;
  const texts = [name, address?.town ?? '', ...(address?.lines ?? []), ...remittance, creditorReference];
  const taken = serviceLevel === 'SEPA' ? LATIN : EXTENDED;
  if (texts.every((text) => taken.test(text))) return undefined;
  return { code: 'RR10', text: 'A text has characters that the bank does not take.' };
}

function faultOfAccount({ account }: Party, code: string, whose: string): Reason | undefined {
  if (account === undefined) return { code, text: `The ${whose} account is missing.` };
  if (!account.isIban || isValidIBAN(account.id)) return undefined;
  return { code, text: `The IBAN of the ${whose} has wrong check digits.` };
}

const faultOfBank = ({ bic }: Institution, whose: string): Reason | undefined =>
  bic === undefined || isValidBIC(bic) ? undefined : { code: 'RC01', text: `The BIC of the ${whose}'s bank is none.` };

/** An address has its town and country in elements since November 2026 (CBPR+, EPC). */
const faultOfAddress = ({ address }: Party, code: string, whose: string): Reason | undefined =>
  address === undefined || (address.town !== undefined && address.country !== undefined)
    ? undefined
    : { code, text: `The address of the ${whose} has no town or no country in elements.` };

function faultOfDay({ executeOn, payments }: PaymentGroup, now: Date): Reason | undefined {
  const day = executeOn.slice(0, 10);
  const time = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== day) {
    return { code: 'DT01', text: 'The execution date is none.' };
  }
  if (day < new Date(now.getTime() - GRACE_MS).toISOString().slice(0, 10)) {
    return { code: 'DT01', text: 'The execution date is in the past.' };
  }
  return payments.every(({ currency }) => isBankDay(day, currency, {}))
    ? undefined
    : { code: 'DT01', text: 'The execution date is no bank day.' };
}
