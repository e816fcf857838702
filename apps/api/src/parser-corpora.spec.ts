import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { target as tokenHeader } from './access/testing/token-header.fuzz.js';
import { target as statementCsv } from './accounts/testing/statement-csv.fuzz.js';
import { target as upstreamResponse } from './gateway/testing/upstream-response.fuzz.js';

/** The inputs that `npm run fuzz:parsers` has added. */
function corpusOf(path: string): string[] {
  const lines = readFileSync(join(__dirname, `${path}.corpus.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as string);
}

describe.each([
  ['access/testing/token-header', tokenHeader],
  ['accounts/testing/statement-csv', statementCsv],
  ['gateway/testing/upstream-response', upstreamResponse],
])('the corpus of %s', (path, target) => {
  it('runs without a violation, and has accepted and refused inputs', async () => {
    const verdicts = new Set<string>();
    for (const input of [...target.examples, ...corpusOf(path)]) verdicts.add(await target.check(input));

    expect([...verdicts].sort()).toEqual(['accepted', 'refused']);
  });
});
