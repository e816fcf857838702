import { BankingError } from './banking-error.js';
import type { Approval } from './resources/approval.js';

/**
 * An operation that waits for approvals. Nothing else has happened: it is carried out after they are given, or not at all. Over HTTP it
 * is the response 202 with the approval.
 */
export class ApprovalPending extends BankingError {
  static override readonly kind: string = 'ApprovalPending';

  constructor(
    readonly approval: Approval,
    /** Whether a request with the same idempotency key asked for it before. */
    readonly isReplay = false,
    /** The key of the request, which repeats it. */
    readonly idempotencyKey?: string,
  ) {
    super('The operation waits for approvals.', { code: 'approval_pending', status: 202 });
  }
}
