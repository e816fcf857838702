import { createHash, type KeyObject, verify } from 'node:crypto';
import { isTimestamp, type Timestamp } from '@banking/domain';
import {
  ANCHOR_FORMAT,
  ANCHOR_VERSION,
  type AnchoredHead,
  type AnchoredTrail,
  anchorLine,
  HASH,
  statementText,
} from './anchor-format.js';
import { keyIdOf } from './anchor-key.js';

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
