import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the schema of camt.053 refuses in each of these messages: the empty text for a valid one. */
export function schemaMistakes(messages: readonly string[]): readonly string[] {
  const schema = readFileSync(join(__dirname, 'camt.053.001.08.xsd'), 'utf8');
  const output = execFileSync(process.execPath, [join(__dirname, 'validate-messages.mjs')], {
    input: JSON.stringify({ schema, messages }),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(output) as string[];
}
