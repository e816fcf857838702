import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { files, read, ROOT } from './workspace.js';

/** What a start leaves in DATA_DIR. */
const MADE = ['signing-key.json'];

const known = files();
const documents = known.filter((file) => file.endsWith('.md'));
// Nx turns one line of a version plan into one entry of a changelog.
const written = documents.filter((document) => !/^\.nx\/|CHANGELOG\.md$/.test(document));

const withoutBlocks = (text: string) => text.replace(/^(```+).*?^\1/gms, '');

/** The targets of the links in a Markdown text, those in code left out. */
const linksIn = (text: string) =>
  [...withoutBlocks(text).matchAll(/!?\[(?:`[^`]*`|[^\]`])*\]\(<?([^)\s>]+)>?\)/g)].map(([, target = '']) => target);

/** The file that a link of a document names. */
const fileOf = (document: string, target: string) => {
  const [path = ''] = target.split('#');
  return path === '' ? document : posix.join(posix.dirname(document), path);
};

/** The links of a document that lead nowhere: no such file or folder, or no such heading in it. */
function brokenLinks(document: string, text = read(document)): string[] {
  return linksIn(text).filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const file = fileOf(document, target);
    if (file.startsWith('..') || !existsSync(join(ROOT, file))) return true;
    const [, anchor] = target.split('#');
    return anchor !== undefined && !anchorsIn(file === document ? text : read(file)).includes(anchor);
  });
}

/** The anchors GitHub gives the headings of a text: words in lower case with dashes, a repeated one numbered. */
function anchorsIn(text: string): string[] {
  const seen = new Map<string, number>();
  return [...withoutBlocks(text).matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading = '']) => {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}\p{M}\- _]/gu, '').replaceAll(' ', '-');
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  });
}

/** Files a text names in code, by their ending. A pattern (`*.dto.ts`, `NNNN-title.sql`) and a route (`/docs/a.js`) name none. */
const filesNamedIn = (text: string) =>
  [...withoutBlocks(text).matchAll(/`([\w./-]+\.(?:[cm]?[jt]s|sql|json|md))`/g)]
    .map(([, name = '']) => name)
    .filter((name) => !/NNNN|^[./]/.test(name));

/** The headings of level two of a long document that the list of contents above the first of them does not link to. */
function headingsMissingInContents(text: string): string[] {
  if (text.split('\n').length <= 150) return [];
  const [top = '', ...sections] = `\n${withoutBlocks(text)}`.split(/^(?=## (?!Contents$))/m);
  const headings = sections.map((section) => section.slice(0, section.indexOf('\n')));
  const anchors = anchorsIn(headings.join('\n'));
  return headings.filter((_, index) => !linksIn(top).includes(`#${anchors[index]}`));
}

describe('the documents of this repository', () => {
  it.each(documents)('have no broken link in %s', (document) => {
    expect(brokenLinks(document)).toEqual([]);
  });

  it.each(documents)('name only existing files in %s', (document) => {
    const isKnown = (name: string) => known.some((file) => file === name || file.endsWith(`/${name}`));

    expect(filesNamedIn(read(document)).filter((name) => !isKnown(name) && !MADE.includes(name))).toEqual([]);
  });

  it('are reached by links from the README', () => {
    const reached = new Set(['README.md']);
    for (const document of reached)
      for (const file of linksIn(read(document)).map((target) => fileOf(document, target)))
        if (written.includes(file)) reached.add(file);

    expect(written.filter((document) => !reached.has(document))).toEqual([]);
  });

  it.each(written)('have no line over 200 characters, and contents if they are long, in %s', (document) => {
    const text = read(document);

    expect(text.split('\n').filter((line) => line.length > 200)).toEqual([]);
    expect(headingsMissingInContents(text)).toEqual([]);
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

  it('are checked for headings that the contents omit', () => {
    const text = `[One](#one)\n\n## One\n\n## Two\n\n[Two](#two)${'\nA line.'.repeat(150)}`;

    expect(headingsMissingInContents(text)).toEqual(['## Two']);
  });
});
