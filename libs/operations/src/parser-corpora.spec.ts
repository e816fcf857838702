import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { target as cursor } from './lists/testing/cursor.fuzz.js';
import { target as recipientData } from './recipients/testing/recipient-data.fuzz.js';

/** The inputs that `npm run fuzz:parsers` has added. */
function corpusOf(path: string): string[] {
  const lines = readFileSync(join(__dirname, `${path}.corpus.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as string);
}

describe.each([
  ['lists/testing/cursor', cursor],
  ['recipients/testing/recipient-data', recipientData],
])('the corpus of %s', (path, target) => {
  it('runs without a violation, and has accepted and refused inputs', async () => {
    const verdicts = new Set<string>();
    for (const input of [...target.examples, ...corpusOf(path)]) verdicts.add(await target.check(input));

    expect([...verdicts].sort()).toEqual(['accepted', 'refused']);
  });
});
