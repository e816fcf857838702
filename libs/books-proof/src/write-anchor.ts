import { createHash } from 'node:crypto';
import type { Timestamp } from '@banking/domain';
import { type AccountHead, headsAt } from '@banking/ledger';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { type AnchoredAudit, anchorLine, type AnchorStatement, statementText } from './anchor-format.js';

/** Signs texts with an Ed25519 key. */
export interface AnchorSigner {
  /** The SHA-256 of the public key's SPKI encoding in DER, in hex. */
  readonly keyId: string;
  /** @returns the 64 bytes of the signature of the text in UTF-8 */
  readonly sign: (text: string) => Promise<Uint8Array>;
}

/** Lines in one call of `write`. */
const BATCH_LINES = 10_000;

/**
 * Writes an anchor: the heads of all customer accounts of some workspaces in one snapshot, the ends of their audit trails, and a signed
 * statement about them.
 *
 * `SinceAnchor` compares it with a later export. A transaction that was changed has another hash, and one that was cut has none.
 *
 * Memory: the heads. They are read and signed before the first `write`, so that no database transaction is open meanwhile.
 *
 * @param write receives whole lines, with their line feeds
 */
export async function writeAnchor(
  database: Database,
  workspaceIds: readonly number[],
  signer: AnchorSigner,
  write: (text: string) => Promise<void>,
): Promise<AnchorStatement> {
  const heads = new Map<number, AccountHead[]>(workspaceIds.map((id) => [id, []]));
  const anchoredAt = await headsAt(database, workspaceIds, (some) => {
    for (const head of some) heads.get(head.workspaceId)?.push(head);
  });

  const lines = [...linesOf(anchoredAt, heads, await auditHeads(database, workspaceIds))];
  const digest = createHash('sha256');
  for (const line of lines) digest.update(line);
  const statement: AnchorStatement = {
    anchoredAt,
    keyId: signer.keyId,
    workspaces: heads.size,
    accounts: [...heads.values()].reduce((sum, { length }) => sum + length, 0),
    sha256: digest.digest('hex'),
  };
  const text = statementText(statement);
  const value = Buffer.from(await signer.sign(text)).toString('base64');
  lines.push(anchorLine({ signature: { keyId: signer.keyId, statement: text, value } }));
  for (let first = 0; first < lines.length; first += BATCH_LINES) {
    await write(lines.slice(first, first + BATCH_LINES).join(''));
  }
  return statement;
}

const AUDIT_HEADS = sqlStatement<{ workspace_id: bigint; id: bigint; hash: string }>(
  'audit_heads',
  'select workspace_id, id, hash from audit_head where workspace_id = any($1::bigint[])',
);

/** The ends of the audit trails. They are read after the heads of the accounts, and contain more rather than less. */
async function auditHeads(
  database: Database,
  workspaceIds: readonly number[],
): Promise<ReadonlyMap<number, AnchoredAudit>> {
  const [rows] = await database.pipeline({ workspaces: workspaceIds }, [bind(AUDIT_HEADS, workspaceIds)] as const);
  return new Map(
    rows.map(({ workspace_id: workspaceId, id, hash }) => [Number(workspaceId), { id: Number(id), hash }]),
  );
}

const NO_AUDIT: AnchoredAudit = { id: 0, hash: '' };

function* linesOf(
  anchoredAt: Timestamp,
  heads: ReadonlyMap<number, readonly AccountHead[]>,
  audits: ReadonlyMap<number, AnchoredAudit>,
): Generator<string> {
  yield anchorLine({ anchor: { anchoredAt } });
  for (const [id, accounts] of heads) {
    yield anchorLine({ workspace: { id, accounts: accounts.length } });
    for (const { accountId, version, hash } of accounts) yield anchorLine({ head: { accountId, version, hash } });
    yield anchorLine({ audit: audits.get(id) ?? NO_AUDIT });
  }
}
