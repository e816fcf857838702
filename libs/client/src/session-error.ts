import { BankingError } from '@banking/domain';

/** A session cannot return an access token. The error of the store or the platform is the `cause`. */
export class SessionError extends BankingError {
  static override readonly kind: string = 'SessionError';

  declare readonly code: 'session_over' | 'session_unavailable';
  /** Whether the user has to sign in again. If not, a later call may succeed. */
  readonly isOver: boolean;

  constructor(message: string, { isOver, ...options }: ErrorOptions & { readonly isOver: boolean }) {
    super(message, { ...options, code: isOver ? 'session_over' : 'session_unavailable' });
    this.isOver = isOver;
  }
}
