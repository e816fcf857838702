import { brokenLinks, documents, filesNamedIn, headingsMissingInContents, linksIn, longLines } from './documents.js';
import { files, read } from './workspace.js';

/** What a start leaves in DATA_DIR. */
const MADE = ['signing-key.json'];

describe('the documents of this repository', () => {
  it.each(documents())('have no broken link in %s', (document) => {
    expect(brokenLinks(document)).toEqual([]);
  });

  it.each(documents())('name only existing files in %s', (document) => {
    const known = files();
    const isKnown = (name: string) => known.some((file) => file === name || file.endsWith(`/${name}`));

    expect(filesNamedIn(read(document)).filter((name) => !isKnown(name) && !MADE.includes(name))).toEqual([]);
  });

  it('link to each decision in the index of decisions', () => {
    const index = 'docs/adr/README.md';
    const decisions = documents().filter((document) => /^docs\/adr\/\d/.test(document));

    const linked = linksIn(read(index)).map(({ target }) => `docs/adr/${target}`);
    expect(decisions.length).toBeGreaterThan(0);
    expect(linked.filter((target) => decisions.includes(target))).toEqual(decisions);
  });

  it.each([
    ['[a](nosuch.md)', ['nosuch.md']],
    ['[a](glossary.md#nosuch)', ['glossary.md#nosuch']],
    ['[a](#nosuch)\n\n# Such', ['#nosuch']],
    ['[`a`](../nosuch/) and ![b](images/nosuch.png)', ['../nosuch/', 'images/nosuch.png']],
    ['[a](../../elsewhere.md)', ['../../elsewhere.md']],
    ['[a](#such-a-thing) [b](#such-a-thing-1)\n\n## Such a *thing*?\n\n## Such a thing', []],
    ['```md\n[a](nosuch.md)\n```\n[b](https://example.com/nosuch.md) [c](../README.md)', []],
  ])('are checked for broken links: %s has %j', (text, broken) => {
    expect(brokenLinks('docs/glossary.md', text)).toEqual(broken);
  });
});

describe('the layout of a document', () => {
  // Nx turns one line of a version plan into one entry of a changelog.
  const written = documents().filter((document) => !/^\.nx\/|CHANGELOG\.md$/.test(document));

  it.each(written)('has no line over 200 characters in %s', (document) => {
    expect(longLines(read(document))).toEqual([]);
  });

  it.each(written)('lists the contents of %s if it has more than 150 lines', (document) => {
    expect(headingsMissingInContents(read(document))).toEqual([]);
  });

  it('reports a line of 201 characters', () => {
    expect(longLines(`${'a'.repeat(200)}\n${'a'.repeat(201)}`)).toEqual([2]);
  });

  it.each([
    ['no list', '## One\n\n## Two', ['## One', '## Two']],
    ['a list', '- [One](#one)\n- [Two](#two)\n\n## One\n\n## Two', []],
    ['a list with a heading, without a section', '## Contents\n\n- [One](#one)\n\n## One\n\n## Two', ['## Two']],
    ['a link below the first heading', '[One](#one)\n\n## One\n\n[Two](#two)\n\n## Two', ['## Two']],
    ['one link for two equal headings', '[Same](#same)\n\n## Same\n\n## Same', ['## Same']],
    ['a heading in code', '[One](#one)\n\n## One\n\n```md\n## In code\n```', []],
  ])('reports the headings that the contents omit: %s', (_, text, missing) => {
    const long = `${text}${'\nA line.'.repeat(150)}`;

    expect(headingsMissingInContents(long)).toEqual(missing);
    expect(headingsMissingInContents(text)).toEqual([]);
  });
});
