/** A fault of the books. */
export interface Finding {
  readonly check: string;
  /** Undefined if no single workspace is at fault. */
  readonly workspaceId?: number | undefined;
  /** The account or transaction at fault, and how. */
  readonly detail: string;
}

export type NoteFault = (check: string, detail: string) => void;
