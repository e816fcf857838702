import { join } from 'node:path';
import { target as amount } from './amount.fuzz.js';
import { target as clientResponse } from './client-response.fuzz.js';
import { corpusIn, type Verdict } from './parser-target.js';

describe.each([
  ['amount', amount],
  ['client-response', clientResponse],
])('the corpus of %s', (name, target) => {
  it('runs without a violation, and has accepted and refused inputs', async () => {
    const verdicts = new Set<Verdict>();
    const corpus = corpusIn(join(__dirname, `${name}.corpus.jsonl`));
    for (const input of [...target.examples, ...corpus]) verdicts.add(await target.check(input));

    expect([...verdicts].sort()).toEqual(['accepted', 'refused']);
    expect(corpus).not.toEqual([]);
  });
});
