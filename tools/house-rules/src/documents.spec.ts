import { brokenLinks, documents, filesNamedIn, headingsMissingInContents, linksIn, longLines } from './documents.js';
import { files, read } from './workspace.js';

const FLOWS = 'docs/flows.md';

/** What a start leaves in DATA_DIR. */
const MADE = ['signing-key.json'];

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

const published = Object.entries((JSON.parse(read('apps/api/openapi.json')) as Document).paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      // The former path of an operation is the same operation.
      operation: operationId.replace(/Formerly$/, ''),
    })),
);

/** What flows.md says of an operation: from its heading to the next. */
function flowOf(name: string): string | undefined {
  return read(FLOWS)
    .split(/^(?=#)/m)
    .find((section) => section.startsWith(`### \`${name}\`\n`));
}

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
    expect(brokenLinks(FLOWS, text)).toEqual(broken);
  });
});

describe('the operations in flows.md', () => {
  it.each(published)('list the files of $name', ({ name, operation }) => {
    const linked = linksIn(flowOf(name) ?? '').map(({ target }) => target.replace(/^\.\.\//, ''));

    const declaredIn = files().filter(
      (file) => file.endsWith('.controller.ts') && read(file).includes(`@Operation('${operation}'`),
    );
    const verb = operation.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const answeredIn = files().filter(
      (file) => /^libs\/operations\/src\/[^/]+\//.test(file) && file.endsWith(`/${verb}.ts`),
    );
    expect(declaredIn).toHaveLength(1);
    expect(linked).toEqual(expect.arrayContaining([...declaredIn, ...answeredIn]));
    expect(linked.indexOf(declaredIn[0]!)).toBe(0);
  });

  it('are exactly the published operations', () => {
    const named = [...read(FLOWS).matchAll(/^### `([A-Z]+ \/.*)`$/gm)].map(([, name]) => name);

    expect(named).toEqual(expect.arrayContaining(published.map(({ name }) => name)));
    expect(named).toHaveLength(published.length);
  });

  it('link to each file that they name', () => {
    const linked = linksIn(read(FLOWS)).flatMap(({ text }) => filesNamedIn(text));

    expect(filesNamedIn(read(FLOWS)).filter((name) => !linked.includes(name))).toEqual([]);
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
