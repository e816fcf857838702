/** A rule of the books that the stored rows break. */
export interface Finding {
  readonly check: string;
  /** Undefined if the finding is between workspaces. */
  readonly workspaceId?: number | undefined;
  /** The account or transaction, and how it breaks the rule. */
  readonly detail: string;
}

export type ReportFinding = (check: string, detail: string) => void;
