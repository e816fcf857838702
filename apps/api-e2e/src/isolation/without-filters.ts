import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { filterSettings } from '../config.js';
import { hasFilter, removeFilters } from './remove-filters.js';

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
