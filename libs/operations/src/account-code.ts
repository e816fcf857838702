/**
 * What others pay to: `BA`, two check digits and the id of the account. The check digits are those of ISO 7064 MOD 97-10, placed and
 * computed as in an IBAN (ISO 13616), so that a digit mistyped or two swapped name no other account.
 */
export function accountCode(accountId: number): string {
  const digits = String(accountId).padStart(12, '0');
  // B is 11 and A is 10, as letters count there.
  const check = 98n - (BigInt(`${digits}111000`) % 97n);
  return `BA${String(check).padStart(2, '0')}${digits}`;
}
