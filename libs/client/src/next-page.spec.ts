import { nextCursor } from './pages.js';

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

  // A regular expression that reads to the end from each `<` takes minutes for this.
  it.each([
    ['targets that do not end', '</t21'],
    ['targets in targets', '<x>;a=<'],
  ])('is read to its end: 300,000 %s', (_, part) => {
    expect(nextCursor(part.repeat(300_000))).toBeUndefined();
  });
});
