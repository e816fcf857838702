import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Reads XML in a process of its own, because the library is an ECMAScript module that waits while it is loaded. */
const VALIDATE = join(__dirname, '../../../../apps/api/src/accounts/testing/validate-messages.mjs');

/** What the schema of its message refuses in each of these messages of a bank: the empty text for a valid one. */
export function schemaMistakes(messages: readonly string[]): readonly string[] {
  const schema = readFileSync(join(__dirname, 'bank-messages.xsd'), 'utf8');
  // The schemas differ in their namespace. A message of another one has no root that a schema knows.
  const named = messages.map((message) => message.replace(NAMESPACE, 'xsd:bank-messages"'));
  return mistakesBy(schema, named);
}

/** The same by any schema. */
export function mistakesBy(schema: string, messages: readonly string[]): readonly string[] {
  const input = JSON.stringify({ schema, messages });
  const output = execFileSync(process.execPath, [VALIDATE], { input, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(output) as string[];
}

const NAMESPACE = /xsd:(?:pain\.002\.001\.10|camt\.05[34]\.001\.08)"/;
