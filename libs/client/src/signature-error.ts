import { BankingError } from '@banking/domain';

/** A request cannot be signed, or its signature is not valid. The message contains no value of the request. */
export class SignatureError extends BankingError {
  static override readonly kind: string = 'SignatureError';

  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, code: 'signature_invalid' });
  }
}
