import { createHash } from 'node:crypto';
import type { Timestamp } from '@banking/domain';
import { type AccountHead, headsAt } from '@banking/ledger';
import { bind, type Database, scopesOf, sqlStatement } from '@banking/postgres';
import { type AnchoredTrail, anchorLine, type AnchorStatement, statementText } from './anchor-format.js';

/** Signs texts with an Ed25519 key. */
export interface AnchorSigner {
  /** The SHA-256 of the public key's SPKI encoding in DER, in hex. */
  readonly keyId: string;
  /** @returns the 64 bytes of the signature of the text in UTF-8 */
  readonly sign: (text: string) => Promise<Uint8Array>;
}

/** What an anchor says of one database. */
export interface AnchoredEnds {
  /** Before all of them were read, by the clock of the database. */
  readonly at: Timestamp;
  readonly workspaces: readonly AnchoredWorkspace[];
  /** The end of the trail of the directory: of several databases, home has it. */
  readonly directory: AnchoredTrail;
}

interface AnchoredWorkspace {
  readonly id: number;
  readonly heads: readonly AccountHead[];
  readonly audit: AnchoredTrail;
}

/** Lines in one call of `write`. */
const BATCH_LINES = 10_000;

const NO_ENTRIES: AnchoredTrail = { id: 0, hash: '' };

const AUDIT_HEADS = sqlStatement<{ workspace_id: bigint; id: bigint; hash: string }>(
  'audit_heads',
  'select workspace_id, id, hash from audit_head where workspace_id = any($1::bigint[])',
);
const DIRECTORY_HEAD = sqlStatement<{ at: Timestamp; id: bigint | null; hash: string | null }>(
  'directory_head',
  'select rfc3339(statement_timestamp()) as at, d.id, d.hash from (select) one left join directory_head() d on true',
);

/** Reads the ends of all chains of some workspaces. The heads of a workspace are of one snapshot. Memory: the heads. */
export async function readEnds(database: Database, workspaceIds: readonly number[]): Promise<AnchoredEnds> {
  const directory = (await database.read({}, bind(DIRECTORY_HEAD)))!;
  const workspaces: AnchoredWorkspace[] = [];
  for (const ids of scopesOf(workspaceIds)) {
    const heads = new Map<number, AccountHead[]>(ids.map((id) => [id, []]));
    await headsAt(database, ids, (some) => {
      for (const head of some) heads.get(head.workspaceId)?.push(head);
    });
    // After the heads of the accounts: they contain more rather than less.
    const [rows] = await database.pipeline({ workspaces: ids }, [bind(AUDIT_HEADS, ids)] as const);
    const audits = new Map(rows.map(({ workspace_id: workspaceId, ...end }) => [Number(workspaceId), trailOf(end)]));
    for (const id of ids) workspaces.push({ id, heads: heads.get(id)!, audit: audits.get(id) ?? NO_ENTRIES });
  }
  return { at: directory.at, workspaces, directory: trailOf(directory) };
}

const trailOf = ({ id, hash }: { readonly id: bigint | null; readonly hash: string | null }): AnchoredTrail =>
  id === null ? NO_ENTRIES : { id: Number(id), hash: hash! };

/**
 * Writes an anchor: the ends of all chains of one or several databases, and a signed statement about them.
 *
 * `SinceAnchor` compares it with a later export, `verifySince` with a database. A transaction or an entry that was changed has another
 * hash, and one that was cut has none.
 *
 * @param write receives whole lines, with their line feeds
 */
export async function writeAnchor(
  ends: readonly AnchoredEnds[],
  signer: AnchorSigner,
  write: (text: string) => Promise<void>,
): Promise<AnchorStatement> {
  const workspaces = ends.flatMap((of) => of.workspaces).sort((left, right) => left.id - right.id);
  const [anchoredAt] = ends.map(({ at }) => at).sort((left, right) => Date.parse(left) - Date.parse(right));
  const directory = ends.find((of) => of.directory.id > 0)?.directory ?? NO_ENTRIES;
  const lines = [anchorLine({ anchor: { anchoredAt: anchoredAt! } })];
  for (const { id, heads, audit } of workspaces) {
    lines.push(anchorLine({ workspace: { id, accounts: heads.length } }));
    for (const { accountId, version, hash } of heads) lines.push(anchorLine({ head: { accountId, version, hash } }));
    lines.push(anchorLine({ audit }));
  }
  lines.push(anchorLine({ directory }));
  const digest = createHash('sha256');
  for (const line of lines) digest.update(line);
  const statement: AnchorStatement = {
    anchoredAt: anchoredAt!,
    keyId: signer.keyId,
    workspaces: workspaces.length,
    accounts: workspaces.reduce((sum, { heads }) => sum + heads.length, 0),
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
