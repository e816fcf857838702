import type { Timestamp } from '@banking/domain';
import { canonicalJson, type CanonicalValue } from '@banking/domain/proof';

export const ANCHOR_FORMAT = 'banking-anchor';
export const ANCHOR_VERSION = 1;
/** A SHA-256 in hex. */
export const HASH = /^[0-9a-f]{64}$/;

/** The head of a customer account in an anchor. */
export interface AnchoredHead {
  readonly version: number;
  /** `''` at version 0. */
  readonly hash: string;
}

/** The last entry of the audit trail of a workspace, or of the trail of the directory. */
export interface AnchoredTrail {
  /** 0 for a trail without entries. */
  readonly id: number;
  /** `''` without entries. */
  readonly hash: string;
}

/** The signed statement. Its digest covers the heads. */
export interface AnchorStatement {
  readonly anchoredAt: Timestamp;
  readonly keyId: string;
  readonly workspaces: number;
  readonly accounts: number;
  /** SHA-256 of the bytes of all lines before the last, with their line feeds, in hex. */
  readonly sha256: string;
}

/** One line of an anchor. Its only member names its kind. */
export type AnchorLine =
  | { readonly anchor: { readonly anchoredAt: Timestamp } }
  | { readonly directory: AnchoredTrail }
  | { readonly workspace: { readonly id: number; readonly accounts: number } }
  | { readonly head: AnchoredHead & { readonly accountId: number } }
  | { readonly audit: AnchoredTrail }
  | {
      readonly signature: {
        readonly keyId: string;
        /** The signed text: `statementText`. */
        readonly statement: string;
        /** The Ed25519 signature of the statement in UTF-8, in base64. */
        readonly value: string;
      };
    };

const FORMAT = { format: ANCHOR_FORMAT, formatVersion: ANCHOR_VERSION };

/** Writes a line of an anchor in its only form, RFC 8785 JSON, with the line feed. */
export function anchorLine(line: AnchorLine): string {
  if ('anchor' in line) return written({ anchor: { ...line.anchor, ...FORMAT } });
  if ('signature' in line) return written({ signature: { ...line.signature, algorithm: 'Ed25519' } });
  if ('workspace' in line) return written({ workspace: { ...line.workspace } });
  if ('directory' in line) return written({ directory: { ...line.directory } });
  if ('audit' in line) return written({ audit: { ...line.audit } });
  return written({ head: { ...line.head } });
}

/** The text of a statement that is signed: RFC 8785 JSON. */
export function statementText(statement: AnchorStatement): string {
  return canonicalJson({ ...statement, ...FORMAT });
}

const written = (line: CanonicalValue) => `${canonicalJson(line)}\n`;
