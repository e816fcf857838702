import { type VerificationMessage, verificationChannel } from '@banking/operations';

/** How long ago this process last proved the new transactions; of several databases, that of the oldest. */
interface VerificationAge {
  readonly ageSeconds: number;
  /** By the name of the database, where there are several. */
  readonly cells?: Readonly<Record<string, number>>;
}

/** The last verifications of new transactions by this process that were proven. */
export class LastVerification {
  /** By the name of the cell; empty if the deployment has one database. */
  private readonly atMs = new Map<string, number>();
  private readonly listen = (message: unknown) => {
    const { subject, outcome, cell = '' } = message as VerificationMessage;
    if (subject === 'new' && outcome === 'proven') this.atMs.set(cell, performance.now());
  };

  constructor() {
    verificationChannel.subscribe(this.listen);
  }

  /** Undefined before the first. */
  read(): VerificationAge | undefined {
    const nowMs = performance.now();
    const ages = [...this.atMs].map(([cell, atMs]) => [cell, Math.floor((nowMs - atMs) / 1000)] as const);
    if (ages.length === 0) return undefined;
    const ofCells = ages.filter(([cell]) => cell !== '');
    return {
      ageSeconds: Math.max(...ages.map(([, seconds]) => seconds)),
      ...(ofCells.length > 0 && { cells: Object.fromEntries(ofCells) }),
    };
  }

  close(): void {
    verificationChannel.unsubscribe(this.listen);
  }
}
