import type { Timestamp } from '@banking/domain';
import { canonicalJson, type CanonicalValue } from '@banking/domain/proof';

export const ANCHOR_FORMAT = 'banking-anchor';
export const ANCHOR_VERSION = 1;

/** The head of a customer account in an anchor. */
export interface AnchoredHead {
  readonly version: number;
  /** `''` at version 0. */
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
  | { readonly workspace: { readonly id: number; readonly accounts: number } }
  | { readonly head: AnchoredHead & { readonly accountId: number } }
  | {
      readonly signature: {
        readonly keyId: string;
        /** The signed text: `statementText`. */
        readonly statement: string;
        /** The Ed25519 signature of the statement in UTF-8, in base64. */
        readonly value: string;
      };
    };

const VERSIONED = { format: ANCHOR_FORMAT, formatVersion: ANCHOR_VERSION };

/** Writes a line of an anchor in its only form, RFC 8785 JSON, with the line feed. */
export function anchorLine(line: AnchorLine): string {
  if ('anchor' in line) return written({ anchor: { ...line.anchor, ...VERSIONED } });
  if ('signature' in line) return written({ signature: { ...line.signature, algorithm: 'Ed25519' } });
  if ('workspace' in line) return written({ workspace: { ...line.workspace } });
  return written({ head: { ...line.head } });
}

/** The text of a statement that is signed: RFC 8785 JSON. */
export function statementText(statement: AnchorStatement): string {
  return canonicalJson({ ...statement, ...VERSIONED });
}

const written = (line: CanonicalValue) => `${canonicalJson(line)}\n`;
