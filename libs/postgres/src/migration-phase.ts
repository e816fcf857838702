import type { Release } from './release.js';

/**
 * Who can use the schema after a migration.
 *
 * - `expand` only adds: every process that could use the schema before still can.
 * - `contract` removes something: processes of the release `since` and newer no longer use it, and older processes would fail.
 */
export type MigrationPhase = { readonly name: 'expand' } | { readonly name: 'contract'; readonly since: Release };

const PHASE = /^-- Phase: (?:(expand)|contract, since (\d+\.\d+\.\d+))$/;

/**
 * The phase in the comment at the head of a file, or undefined where it has none.
 *
 * @returns a text where the line is not written as it must be
 */
export function phaseOf(text: string): MigrationPhase | string | undefined {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  const stated = lines.slice(0, end === -1 ? undefined : end).filter((line) => /^--\s*phase\b/i.test(line));
  const [line] = stated;
  if (line === undefined) return undefined;
  const match = PHASE.exec(line);
  if (stated.length > 1 || match === null) {
    return 'its phase must be one line: "-- Phase: expand" or "-- Phase: contract, since 1.2.0".';
  }
  const [, isExpand, since = ''] = match;
  return isExpand === undefined ? { name: 'contract', since } : { name: 'expand' };
}
