import { type VerificationMessage, verificationChannel } from '@banking/operations';

/** The last verification of new transactions by this process that was proven. */
export class LastVerification {
  private atMs: number | undefined;
  private readonly listen = (message: unknown) => {
    const { subject, outcome } = message as VerificationMessage;
    if (subject === 'new' && outcome === 'proven') this.atMs = performance.now();
  };

  constructor() {
    verificationChannel.subscribe(this.listen);
  }

  /** Undefined before the first. */
  read(): { readonly ageSeconds: number } | undefined {
    return this.atMs === undefined ? undefined : { ageSeconds: Math.floor((performance.now() - this.atMs) / 1000) };
  }

  close(): void {
    verificationChannel.unsubscribe(this.listen);
  }
}
