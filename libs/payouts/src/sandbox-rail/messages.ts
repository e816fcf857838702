/** A sentence for each code of the ISO 20022 external code set ExternalPaymentTransactionStatus1Code. */
const STATUS_MESSAGES: Readonly<Record<string, string>> = {
  ACSP: 'Settlement is in progress.',
  ACCC: 'The amount was credited to the account of the beneficiary.',
  RJCT: 'The payment was rejected.',
};

/** Codes of the ISO 20022 external code set ExternalStatusReason1Code. */
const REASON_MESSAGES: Readonly<Record<string, string>> = {
  AC01: 'The account number is invalid or missing.',
  AC04: 'The account is closed.',
  G000: 'The payment was transferred to the next bank and is tracked.',
  G001: 'The payment was transferred to the next bank and is not tracked.',
  G002: 'The credit may not be confirmed on the same day.',
  G003: 'The credit is pending until documents arrive.',
  G004: 'The credit is pending until funds arrive.',
};

const textOf = (messages: Readonly<Record<string, string>>, code: string | undefined) =>
  code !== undefined && Object.hasOwn(messages, code) ? messages[code] : undefined;

/** The text of the sandbox network for a status and its reason. Undefined for an unknown status. */
export function sandboxMessage(status: string, reasonCode?: string): string | undefined {
  const parts = [textOf(STATUS_MESSAGES, status), textOf(REASON_MESSAGES, reasonCode)].filter(Boolean);
  return parts.length === 0 ? undefined : parts.join(' ');
}
