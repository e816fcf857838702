import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { filterSettings } from '../config.js';

/** An equality of two tuples that begin with the workspace: the remaining columns stay, because they identify the row. */
const TUPLES = /\((?:\w+\.)?workspace_id, ([^()]+)\) = \((?:\w+\.(?:workspace_id|w)|\$\d+), ([^()]+)\)/g;
const EQUALITY = /(?:\w+\.)?\bworkspace_id = (\$\d+|\w+\.(?:workspace_id|w)\b)/g;
const AMONG = /(?:\w+\.)?\bworkspace_id = any\((\$\d+)::bigint\[\]\)/g;
const SCOPE = /(?:\w+\.)?\bworkspace_id = any\(nullif\(current_setting\('app\.workspaces', true\), ''\)::bigint\[\]\)/g;

/** A condition on a workspace that is left, in the `where` or `on` of a statement. */
const CONDITION =
  /\bworkspace_id\s*(?:=|<|>|in\b|is\b|between\b)|\(\s*(?:\w+\.)?workspace_id,[^()]*\)\s*(?:=|<|>|in\b)/i;

/** The statement without its conditions on the workspace. Parameters keep their type, which PostgreSQL infers from their use. */
function removeFilters(text: string): string {
  return text
    .replace(TUPLES, '($1) = ($2)')
    .replace(SCOPE, 'true')
    .replace(AMONG, '$1::bigint[] is not null')
    .replace(EQUALITY, (_, value: string) => (value.startsWith('$') ? `${value}::bigint is not null` : 'true'));
}

/** Whether a statement has a condition on a workspace. */
const hasFilter = (text: string): boolean => CONDITION.test(text);

/** The part of the PostgreSQL client that sends the text of a statement. */
interface Client {
  readonly Connection: { readonly prototype: { parse(statement: ParsedStatement): void } };
}

interface ParsedStatement {
  readonly name: string;
  readonly text: string;
}

/**
 * Node loads this module before the service (`--require`). The service then sends its statements without their conditions on
 * the workspace, so that row-level security alone separates workspaces. The code of the service has no switch for this.
 */
const { Connection } = createRequire(require.resolve('@banking/postgres'))('pg') as Client;
const parse = Connection.prototype.parse;
const { keeps, logFile } = filterSettings();

Connection.prototype.parse = function (statement) {
  const { name, text } = statement;
  const sent = keeps.includes(name) ? text : removeFilters(text);
  appendFileSync(logFile, `${JSON.stringify({ name, isChanged: sent !== text, hasFilter: hasFilter(sent) })}\n`);
  parse.call(this, { ...statement, text: sent });
};
