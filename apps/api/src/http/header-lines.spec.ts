import { type CountedHeader, headerLines, repeatedHeader } from './header-lines.js';

const requestWith = (...rawHeaders: string[]) => ({ raw: { rawHeaders } });

describe('headerLines', () => {
  it('returns the value of each line of a header, in any case of its name', () => {
    const request = requestWith('Workspace-ID', '1', 'Accept', 'workspace-id', 'WORKSPACE-ID', '2');

    expect(headerLines(request, 'workspace-id')).toEqual(['1', '2']);
  });

  it('returns nothing of other headers', () => {
    const request = requestWith('Accept', '*/*', 'Host', 'a', 'Content_Type', 'b', 'x'.repeat(40), 'c', '', 'd');

    expect(headerLines(request, 'workspace-id')).toEqual([]);
    expect(headerLines(request, 'content-type')).toEqual([]);
  });
});

describe('repeatedHeader', () => {
  const names = new Set<CountedHeader>(['accept', 'content-type']);

  it.each<[string[], string | undefined]>([
    [['Accept', 'a', 'Content-Type', 'b'], undefined],
    [['Accept', 'a', 'Content-Type', 'b', 'content-type', 'b', 'ACCEPT', 'a'], 'content-type'],
    [['Accept', 'a', 'accept', 'a', 'accept', 'a'], 'accept'],
    [['Host', 'a', 'host', 'a'], undefined],
  ])('of %j is %j', (rawHeaders, repeated) => {
    expect(repeatedHeader(requestWith(...rawHeaders), names)).toBe(repeated);
  });
});
