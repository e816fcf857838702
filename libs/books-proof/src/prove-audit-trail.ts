import { createHash } from 'node:crypto';
import type { AuditEvent } from '@banking/domain';
import { type AnchoredTrail, HASH } from './anchor.js';

/** An entry of the audit trail in a file of `banking audit export`. */
export interface ExportedAuditEvent extends AuditEvent {
  readonly workspaceID: number;
}

/** A file of `banking audit export` whose chain of hashes is correct. */
export interface AuditTrailProof {
  readonly workspaceId: number;
  /** The ids of its oldest and of its newest entry. Each id between is in it. */
  readonly oldest: number;
  readonly newest: number;
}

/** A file is not a part of an audit trail. */
export class AuditTrailFault extends Error {
  override readonly name = 'AuditTrailFault';
}

/** The hash before the first entry of a trail. */
const START = '0'.repeat(64);

/**
 * Computes the chain of hashes of a file of `banking audit export` again: its entries from the newest to the oldest, each with the next
 * lower id. What was before the oldest one is not in the file, so its hash is taken as it is, unless its id is 1.
 *
 * @param lines without their line feeds
 * @param onEntry called for each entry, from the newest on
 * @throws AuditTrailFault
 */
export async function proveAuditTrail(
  lines: AsyncIterable<string>,
  onEntry: (entry: AnchoredTrail) => void = () => undefined,
): Promise<AuditTrailProof> {
  let newest: ExportedAuditEvent | undefined;
  let next: ExportedAuditEvent | undefined;
  let count = 0;
  for await (const line of lines) {
    count += 1;
    const fault = (detail: string) => new AuditTrailFault(`line ${count} ${detail}`);
    const entry = parsedEntry(line);
    if (entry === undefined) throw fault('is not an entry of banking audit export');
    if (next !== undefined) {
      if (entry.workspaceID !== next.workspaceID) throw fault('is of another workspace than the line before it');
      if (entry.id !== next.id - 1) throw fault(`has entry ${entry.id}, and entry ${next.id - 1} is expected`);
      if (next.hash !== hashOf(next, entry.hash)) throw fault(`shows that entry ${next.id} is not as its hash says`);
    }
    onEntry(entry);
    newest ??= entry;
    next = entry;
  }
  if (newest === undefined || next === undefined) throw new AuditTrailFault('it has no entries');
  if (next.id === 1 && next.hash !== hashOf(next, START)) {
    throw new AuditTrailFault(`line ${count} shows that entry 1 is not as its hash says`);
  }
  return { workspaceId: newest.workspaceID, oldest: next.id, newest: newest.id };
}

/** Whether a line is of `banking audit export`, and not of `banking export`. */
export const isAuditLine = (line: string): boolean => parsedEntry(line) !== undefined;

function parsedEntry(line: string): ExportedAuditEvent | undefined {
  let value: Partial<ExportedAuditEvent> | null;
  try {
    value = JSON.parse(line) as Partial<ExportedAuditEvent> | null;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const { workspaceID, id, operation, actor, hash } = value ?? {};
  const isEntry =
    isId(workspaceID) &&
    isId(id) &&
    typeof operation === 'string' &&
    typeof actor === 'object' &&
    actor !== null &&
    typeof hash === 'string' &&
    HASH.test(hash);
  return isEntry ? (value as ExportedAuditEvent) : undefined;
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;

/** The function `next_audit_hash` of the database: SHA-256 of the hash before and of the entry, in UTF-8 and in hex. */
const hashOf = (entry: ExportedAuditEvent, before: string): string =>
  createHash('sha256')
    .update(before)
    .update(jsonbText(contentOf(entry)))
    .digest('hex');

/** The function `audit_content` of the database. */
function contentOf(entry: ExportedAuditEvent): Json {
  const { userID, tokenID, clientID, ...actor } = entry.actor;
  return [
    ...[entry.workspaceID, entry.id, entry.operation, entry.outcome, entry.reason ?? null, entry.count ?? 1],
    ...[entry.resource?.type ?? null, entry.resource?.id ?? null, userID ?? null],
    {
      ...actor,
      ...(tokenID !== undefined && { tokenId: tokenID }),
      ...(clientID !== undefined && { clientId: clientID }),
    },
    ...[entry.requestID ?? null, entry.sourceAddress ?? null, entry.createdAt],
  ];
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/**
 * JSON as PostgreSQL writes a value of the type `jsonb`: the members of an object in the order of the length of their names and then of
 * their bytes, with a space after each comma and colon.
 */
function jsonbText(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(jsonbText).join(', ')}]`;
  const members = Object.entries(value).map(([name, member]) => ({ name: Buffer.from(name), text: jsonbText(member) }));
  members.sort((left, right) => left.name.length - right.name.length || Buffer.compare(left.name, right.name));
  return `{${members.map(({ name, text }) => `${JSON.stringify(name.toString())}: ${text}`).join(', ')}}`;
}

const isList = (value: object): value is readonly Json[] => Array.isArray(value);
