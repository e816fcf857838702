import type { ExportProof, ProvenHead } from '@banking/domain/proof';
import type { AnchoredHead, AnchoredTrail, Anchor } from './anchor.js';
import type { AuditTrailProof } from './prove-audit-trail.js';

/** The comparison of an export with an anchor. */
export interface AnchorComparison {
  /** False if the anchor has no heads of the workspace. Then nothing before the anchor is proved. */
  readonly isAnchored: boolean;
  /** Accounts whose anchored head is on their chain in the export. */
  readonly unchanged: number;
  /** Accounts that were opened after the anchor. */
  readonly opened: number;
  /** What was changed or cut, a sentence each. Empty if nothing was. */
  readonly faults: readonly string[];
}

/**
 * Compares one export with an anchor while it is proved: each anchored head must be on the chain of its account, at the same version.
 * The chain of hashes then shows that nothing before it was changed.
 */
export class SinceAnchor {
  private readonly faults = new Map<number, string>();
  private readonly reached = new Set<number>();

  constructor(private readonly anchor: Anchor) {}

  /** For `onHead` of `proveExport`. */
  readonly take = ({ workspaceId, accountId, from, version, hash }: ProvenHead): void => {
    const anchored = this.anchor.workspaces.get(workspaceId)?.get(accountId);
    if (!anchored || from >= anchored.version || version < anchored.version) return;
    this.reached.add(accountId);
    if (version === anchored.version && hash === anchored.hash) return;
    this.faults.set(
      accountId,
      version === anchored.version
        ? `Account ${accountId} has another hash at version ${version} than in the anchor: a transaction up to it was changed.`
        : `Account ${accountId} has no transaction that ends with version ${anchored.version}, as in the anchor.`,
    );
  };

  /** Call it with the proof of the export. */
  compare({ workspace, accounts }: Pick<ExportProof, 'workspace' | 'accounts'>): AnchorComparison {
    const anchored = this.anchor.workspaces.get(workspace.id);
    if (!anchored) return { isAnchored: false, unchanged: 0, opened: 0, faults: [] };
    const customers = new Map(
      accounts.flatMap((one) => (one.kind === 'customer' ? [[one.id, one.version] as const] : [])),
    );
    const faults = [...anchored].flatMap(([id, head]) => this.faultOf(id, head, customers.get(id)) ?? []);
    return {
      isAnchored: true,
      unchanged: anchored.size - faults.length,
      opened: [...customers.keys()].filter((id) => !anchored.has(id)).length,
      faults,
    };
  }

  private faultOf(id: number, { version }: AnchoredHead, exported: number | undefined): string | undefined {
    if (exported === undefined) return `Account ${id} is in the anchor and not in the export.`;
    if (this.faults.has(id)) return this.faults.get(id);
    if (version === 0 || this.reached.has(id)) return undefined;
    return `Account ${id} ends with version ${exported}, and the anchor has version ${version}: transactions were cut.`;
  }
}

/** Compares the file of an audit trail with an anchor while it is proved: it must have the anchored entry, with the anchored hash. */
export class AuditSinceAnchor {
  private readonly hashes = new Map<number, string>();
  private readonly anchored: ReadonlySet<number>;

  constructor(private readonly anchor: Anchor) {
    this.anchored = new Set([...anchor.audits.values()].map(({ id }) => id));
  }

  /** For `onEntry` of `proveAuditTrail`. */
  readonly take = ({ id, hash }: AnchoredTrail): void => {
    if (this.anchored.has(id)) this.hashes.set(id, hash);
  };

  /** Call it with the proof of the file. @returns what was changed or cut, a sentence; undefined if nothing was */
  faultOf({ workspaceId, newest, oldest }: AuditTrailProof): string | undefined {
    const audit = this.anchor.audits.get(workspaceId);
    if (!audit) return `The anchor has no audit trail of workspace ${workspaceId}, so nothing is proved.`;
    const { id, hash } = audit;
    if (id === 0 || this.hashes.get(id) === hash) return undefined;
    if (newest < id)
      return `The audit trail ends with entry ${newest}, and the anchor has entry ${id}: entries were cut, or it was exported before the anchor was made.`;
    if (oldest > id)
      return `The audit trail begins with entry ${oldest}, and the anchor has entry ${id}: export it from an earlier time.`;
    return `Entry ${id} of the audit trail has another hash than in the anchor: an entry up to it was changed.`;
  }
}
