/** The fault of a well-formed number: a stable code, and a sentence that continues after the name of the field. */
export interface Fault {
  readonly reason: 'check_digits' | 'national_check_digits' | 'qr_iban';
  readonly message: string;
}

export const MISTYPED: Fault = {
  reason: 'check_digits',
  message: 'has check digits that do not fit: at least one character is wrong.',
};
