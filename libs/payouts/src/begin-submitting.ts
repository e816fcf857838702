import { BatchedCalls, bind, sqlStatement, type Database } from '@banking/postgres';
import { lockClaims, LostClaimError, type Claim } from '@banking/work-queue';
import type { PayoutAttempt } from './find-earlier-submission.js';

/** A payout at the start of a try. */
export interface BegunPayout extends PayoutAttempt {
  /** Whether this try may submit the payment: false while payouts are stopped, and for a payout that was submitted before. */
  readonly isBegun: boolean;
}

interface PayoutRow extends PayoutAttempt {
  workspace_id: bigint;
  transaction_id: bigint;
}

/**
 * Recorded before the network is called: at a second try the network may already have the payment. Begins nothing while payouts are
 * stopped, and its rows alone prove that the payouts have begun. The caller has locked the claims.
 */
const BEGIN_SUBMITTING = sqlStatement<{ workspace_id: bigint; transaction_id: bigint }>(
  'begin_submitting',
  `update payout p set status = 'submitting', tries = p.tries + 1, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) and p.status in ('due', 'submitting')
     and not exists (select from payout_stop where resumed_at is null)
   returning p.workspace_id, p.transaction_id`,
);
const READ_PAYOUTS = sqlStatement<PayoutRow>(
  'read_payouts',
  `select p.workspace_id, p.transaction_id, p.status, p.tries, p.key_nonce as "keyNonce",
          p.created_at < statement_timestamp() - interval '1 minute' as "isLate"
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   join payout p on (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id)`,
);

/** Begins the tries of payouts that are claimed at the same time, in one database transaction. */
export class PayoutBeginner {
  private readonly batches = new BatchedCalls<Claim, BegunPayout | 'lost' | 'missing'>((claims) =>
    this.beginAll(claims),
  );

  constructor(private readonly database: Database) {}

  /** @throws LostClaimError if another worker has the payout; nothing was begun */
  async begin(claim: Claim): Promise<BegunPayout> {
    const begun = await this.batches.call(claim);
    if (begun === 'lost') throw new LostClaimError('the claim is lost');
    if (begun === 'missing') throw new Error(`transaction ${claim.subjectId} has no payout`);
    return begun;
  }

  /** A claim that is lost is left out, and delays no other. */
  private beginAll(claims: readonly Claim[]): Promise<readonly (BegunPayout | 'lost' | 'missing')[]> {
    const workspaces = [...new Set(claims.map(({ workspaceId }) => workspaceId))];
    return this.database.transaction({ workspaces }, async (tx) => {
      const held = await lockClaims(tx, claims);
      const kept = claims.filter((claim) => held.has(claim));
      const ids = [kept.map(({ workspaceId }) => workspaceId), kept.map(({ subjectId }) => subjectId)] as const;
      const [begun, payouts] = await tx.commit([bind(BEGIN_SUBMITTING, ...ids), bind(READ_PAYOUTS, ...ids)] as const);
      const begunNames = new Set(begun.map(nameOfRow));
      const byName = new Map(payouts.map((payout) => [nameOfRow(payout), payout]));
      return claims.map((claim) => {
        const name = `${claim.workspaceId}/${claim.subjectId}`;
        const payout = byName.get(name);
        if (!held.has(claim)) return 'lost';
        return payout ? { ...payout, isBegun: begunNames.has(name) } : 'missing';
      });
    });
  }
}

const nameOfRow = (row: { workspace_id: bigint; transaction_id: bigint }) =>
  `${row.workspace_id}/${row.transaction_id}`;
