import { nextCursor } from './next-page.js';

describe('Link header of a page', () => {
  it.each<[string | null, string | null | undefined]>([
    [null, undefined],
    ['', undefined],
    ['</transfers?cursor=abc>; rel="next"', 'abc'],
    ['</transfers?type=a%2Cb&cursor=a-_b>; rel=next', 'a-_b'],
    ['<https://bank.example/x?cursor=abc#top>; title="next, please"; rel="last next"', 'abc'],
    ['</first?cursor=no>; rel="first", </n?cursor=yes>; REL="Next"', 'yes'],
    ['</transfers?cursor=abc>; rel="nextish"', undefined],
    ['</transfers?cursor=abc>; rev="next"', undefined],
    ['</transfers>; rel="next"', null],
    ['</transfers?cursor=abc', undefined],
    ['</a,b;rel=next>; rel="prev"', undefined],
  ])('has for %j the cursor %j', (link, cursor) => {
    expect(nextCursor(link)).toBe(cursor);
  });

  // Found by npm run fuzz:parsers. A regular expression that reads to the end from each `<` takes 10 seconds or more for this.
  it.each([
    ['targets that do not end', '</t21'],
    ['targets in targets', '<x>;a=<'],
  ])('is read in linear time: %s', (_, part) => {
    const startedAt = performance.now();

    expect(nextCursor(part.repeat(50_000))).toBeUndefined();
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
