import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { type Timestamp, isTimestamp } from '@banking/domain';
import { canonicalJson, type CanonicalValue } from '@banking/domain/proof';
import { type AccountHead, headsAt } from '@banking/ledger';
import { bind, type Database, scopesOf, sqlStatement } from '@banking/postgres';

const ANCHOR_FORMAT = 'banking-anchor';
const ANCHOR_VERSION = 1;
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
interface AnchorStatement {
  readonly anchoredAt: Timestamp;
  readonly keyId: string;
  readonly workspaces: number;
  readonly accounts: number;
  /** SHA-256 of the bytes of all lines before the last, with their line feeds, in hex. */
  readonly sha256: string;
}

/** One line of an anchor. Its only member names its kind. */
type AnchorLine =
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
function anchorLine(line: AnchorLine): string {
  if ('anchor' in line) return written({ anchor: { ...line.anchor, ...FORMAT } });
  if ('signature' in line) return written({ signature: { ...line.signature, algorithm: 'Ed25519' } });
  if ('workspace' in line) return written({ workspace: { ...line.workspace } });
  if ('directory' in line) return written({ directory: { ...line.directory } });
  if ('audit' in line) return written({ audit: { ...line.audit } });
  return written({ head: { ...line.head } });
}

/** The text of a statement that is signed: RFC 8785 JSON. */
function statementText(statement: AnchorStatement): string {
  return canonicalJson({ ...statement, ...FORMAT });
}

const written = (line: CanonicalValue) => `${canonicalJson(line)}\n`;

/** The id of an Ed25519 public key: the SHA-256 of its SPKI encoding in DER, in hex. */
export function keyIdOf(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

/** Reads an Ed25519 public key in PEM; undefined for any other text, also for a private key. */
export function readPublicKey(pem: string): KeyObject | undefined {
  return pem.includes('PRIVATE KEY') ? undefined : ed25519(() => createPublicKey(pem));
}

/** A signer with an Ed25519 private key in PEM; undefined for any other text. */
export function signerWith(pem: string): AnchorSigner | undefined {
  const key = ed25519(() => createPrivateKey(pem));
  if (!key) return undefined;
  const keyId = keyIdOf(createPublicKey(key));
  return { keyId, sign: (text) => Promise.resolve(sign(null, Buffer.from(text), key)) };
}

/** The error of OpenSSL may quote the text, so it is dropped. */
function ed25519(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** A verified anchor. */
export interface Anchor {
  readonly anchoredAt: Timestamp;
  readonly keyId: string;
  /** The heads of each workspace, by account. */
  readonly workspaces: ReadonlyMap<number, ReadonlyMap<number, AnchoredHead>>;
  /** The end of the audit trail of each workspace. */
  readonly audits: ReadonlyMap<number, AnchoredTrail>;
  readonly directory: AnchoredTrail;
}

/** A file is not a valid anchor. */
export class AnchorFault extends Error {
  override readonly name = 'AnchorFault';
}

type Members = Readonly<Record<string, unknown>>;

const SIGNATURE = /^[A-Za-z0-9+/]{86}==$/;

/**
 * Reads an anchor strictly and verifies its signature. Memory: one entry for each account.
 *
 * @param lines without their line feeds
 * @throws AnchorFault
 */
export async function readAnchor(lines: AsyncIterable<string>, publicKey: KeyObject): Promise<Anchor> {
  const reader = new AnchorReader(publicKey);
  let count = 0;
  for await (const line of lines) {
    count += 1;
    try {
      reader.take(line);
    } catch (error) {
      if (error instanceof AnchorFault) throw new AnchorFault(`line ${count} ${error.message}`);
      throw error;
    }
  }
  return reader.anchor();
}

class AnchorReader {
  private readonly digest = createHash('sha256');
  private readonly workspaces = new Map<number, Map<number, AnchoredHead>>();
  private readonly audits = new Map<number, AnchoredTrail>();
  private directory: AnchoredTrail | undefined;
  private anchoredAt: Timestamp | undefined;
  private last:
    { readonly id: number; readonly accounts: number; readonly heads: Map<number, AnchoredHead> } | undefined;
  private accounts = 0;
  private isSigned = false;

  constructor(private readonly publicKey: KeyObject) {}

  take(text: string): void {
    if (this.isSigned) throw new AnchorFault('follows the signature');
    const line = parsed(text);
    if (this.anchoredAt === undefined) this.takeFirst(text, members(line['anchor']));
    else if ('workspace' in line) this.takeWorkspace(text, members(line['workspace']));
    else if ('audit' in line) this.takeAudit(text, members(line['audit']));
    else if ('directory' in line) this.takeDirectory(text, members(line['directory']));
    else if ('head' in line) this.takeHead(text, members(line['head']));
    else this.takeSignature(text, members(line['signature']));
    this.digest.update(`${text}\n`);
  }

  anchor(): Anchor {
    const { isSigned, anchoredAt, directory, workspaces, audits } = this;
    if (!isSigned || anchoredAt === undefined || directory === undefined) {
      throw new AnchorFault('the signature is missing: the anchor was cut short');
    }
    return { anchoredAt, keyId: keyIdOf(this.publicKey), workspaces, audits, directory };
  }

  private takeFirst(text: string, { format, formatVersion, anchoredAt }: Members): void {
    if (format !== ANCHOR_FORMAT || formatVersion !== ANCHOR_VERSION) {
      throw new AnchorFault(`is not the first line of ${ANCHOR_FORMAT} version ${ANCHOR_VERSION}`);
    }
    if (typeof anchoredAt !== 'string' || !isTimestamp(anchoredAt)) throw malformed();
    expectForm(text, anchorLine({ anchor: { anchoredAt } }));
    this.anchoredAt = anchoredAt;
  }

  private takeDirectory(text: string, line: Members): void {
    const directory = trailOf(line);
    expectForm(text, anchorLine({ directory }));
    this.expectWhole();
    this.directory = directory;
  }

  private takeWorkspace(text: string, { id, accounts }: Members): void {
    if (!isCount(id) || !isCount(accounts)) throw malformed();
    expectForm(text, anchorLine({ workspace: { id, accounts } }));
    this.expectWhole();
    if (this.workspaces.has(id)) throw new AnchorFault(`has workspace ${id} twice`);
    const heads = new Map<number, AnchoredHead>();
    this.workspaces.set(id, heads);
    this.last = { id, accounts, heads };
  }

  private takeHead(text: string, { accountId, version, hash }: Members): void {
    if (!isCount(accountId) || !isCount(version) || typeof hash !== 'string') throw malformed();
    if (version === 0 ? hash !== '' : !HASH.test(hash)) throw malformed();
    expectForm(text, anchorLine({ head: { accountId, version, hash } }));
    if (!this.last) throw new AnchorFault('has a head before a workspace');
    if (this.last.heads.has(accountId)) throw new AnchorFault(`has account ${accountId} twice`);
    this.last.heads.set(accountId, { version, hash });
    this.accounts += 1;
  }

  /** It follows the heads of its workspace. */
  private takeAudit(text: string, line: Members): void {
    const audit = trailOf(line);
    expectForm(text, anchorLine({ audit }));
    this.expectWhole();
    if (!this.last) throw new AnchorFault('has an audit trail before a workspace');
    if (this.audits.has(this.last.id)) throw new AnchorFault(`has the audit trail of workspace ${this.last.id} twice`);
    this.audits.set(this.last.id, audit);
  }

  /** The key comes from the caller, never from the file. The statement is built from what was read, so that it covers every line. */
  private takeSignature(text: string, { keyId, statement, value }: Members): void {
    if (typeof keyId !== 'string' || typeof statement !== 'string' || typeof value !== 'string') throw malformed();
    if (!SIGNATURE.test(value)) throw malformed();
    expectForm(text, anchorLine({ signature: { keyId, statement, value } }));
    if (this.directory === undefined) throw new AnchorFault('has no end of the trail of the directory before it');
    const expectedKey = keyIdOf(this.publicKey);
    if (keyId !== expectedKey) {
      throw new AnchorFault(`is signed with key ${keyId}, and the public key is ${expectedKey}`);
    }
    if (!verify(null, Buffer.from(statement), this.publicKey, Buffer.from(value, 'base64'))) {
      throw new AnchorFault('has a signature that the public key does not verify');
    }
    const { size: workspaces } = this.workspaces;
    const sha256 = this.digest.copy().digest('hex');
    const read = { anchoredAt: this.anchoredAt!, keyId, workspaces, accounts: this.accounts, sha256 };
    if (statement !== statementText(read)) {
      throw new AnchorFault('signs other lines than those before it: the anchor was changed');
    }
    this.isSigned = true;
  }

  private expectWhole(): void {
    if (this.last && this.last.heads.size !== this.last.accounts) {
      throw new AnchorFault(
        `follows ${this.last.heads.size} of ${this.last.accounts} accounts of workspace ${this.last.id}`,
      );
    }
  }
}

function trailOf({ id, hash }: Members): AnchoredTrail {
  if (!isCount(id) || typeof hash !== 'string' || (id === 0 ? hash !== '' : !HASH.test(hash))) throw malformed();
  return { id, hash };
}

function parsed(text: string): Members {
  try {
    return members(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) throw new AnchorFault('is not JSON');
    throw error;
  }
}

function members(value: unknown): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed();
  return value as Members;
}

/** Another spelling, or an unknown field, could be read in another way by another program. */
function expectForm(text: string, form: string): void {
  if (`${text}\n` !== form) throw new AnchorFault('has a field that is not known, or is not RFC 8785 JSON');
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const malformed = () => new AnchorFault('is not a line of an anchor: a field is missing or has the wrong type');

/** Signs texts with an Ed25519 key. */
export interface AnchorSigner {
  /** The SHA-256 of the public key's SPKI encoding in DER, in hex. */
  readonly keyId: string;
  /** @returns the 64 bytes of the signature of the text in UTF-8 */
  readonly sign: (text: string) => Promise<Uint8Array>;
}

/** What an anchor says of one database. */
interface AnchoredEnds {
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
    const audits = new Map(
      rows.map(({ workspace_id: workspaceId, ...end }) => [Number(workspaceId), writtenTrailOf(end)]),
    );
    for (const id of ids) workspaces.push({ id, heads: heads.get(id)!, audit: audits.get(id) ?? NO_ENTRIES });
  }
  return { at: directory.at, workspaces, directory: writtenTrailOf(directory) };
}

const writtenTrailOf = ({ id, hash }: { readonly id: bigint | null; readonly hash: string | null }): AnchoredTrail =>
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
