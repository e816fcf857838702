import { BankingError } from '@banking/domain';

/** Why a request is not a webhook of the owner of the secret. */
export type WebhookFault =
  /** A header of a webhook is missing. The request is no webhook, or a proxy removed the header. */
  | 'header_missing'
  /** A header of a webhook occurs twice, or has another form. */
  | 'header_malformed'
  /** The webhook was sent more than five minutes ago: it may be a repetition by a third party. Or a clock is wrong. */
  | 'timestamp_too_old'
  /** The webhook was sent more than five minutes in the future. A clock is wrong. */
  | 'timestamp_too_new'
  /** No signature belongs to one of the secrets and this body. Often the body was parsed and written again. */
  | 'signature_mismatch'
  /** The signature is valid, and the body is not the JSON of a webhook. */
  | 'body_malformed';

/** A request is not a webhook of the owner of the secret. The message contains no value of the request. */
export class WebhookVerificationError extends BankingError {
  static override readonly kind: string = 'WebhookVerificationError';

  declare readonly code: WebhookFault;
  readonly reason: WebhookFault;

  constructor(reason: WebhookFault, message: string) {
    super(message, { code: reason });
    this.reason = reason;
  }
}
