import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { files, read, ROOT } from './workspace.js';

const LINE_LENGTH_MAX = 200;
const LINES_WITHOUT_CONTENTS = 150;

/** Every Markdown file of the repository, from the top. */
export function documents(): string[] {
  return files().filter((file) => file.endsWith('.md'));
}

/** A link as it is written: to a file, from the document or by its name in a URL, with an anchor or without. */
export interface Link {
  readonly text: string;
  readonly target: string;
}

/** The links in a Markdown text, those in code left out. */
export function linksIn(text: string): Link[] {
  const links = withoutBlocks(text).matchAll(/!?\[((?:`[^`]*`|[^\]`])*)\]\(<?([^)\s>]+)>?\)/g);
  return [...links].map(([, label = '', target = '']) => ({ text: label, target }));
}

/** The links of a document that lead nowhere: no such file or folder, or no such heading in it. */
export function brokenLinks(document: string, text = read(document)): string[] {
  const targets = linksIn(text).map(({ target }) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target) && !isThere(document, target, text));
}

function isThere(document: string, target: string, text: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? document : posix.join(posix.dirname(document), path);
  if (file.startsWith('..') || !existsSync(join(ROOT, file))) return false;
  return anchor === undefined || anchorsIn(file === document ? text : read(file)).includes(anchor);
}

/**
 * The headings of level two that the list of contents does not link to. The list stands above the first of them, with a
 * heading of its own or without. A short document needs none.
 */
export function headingsMissingInContents(text: string): string[] {
  if (text.trimEnd().split('\n').length <= LINES_WITHOUT_CONTENTS) return [];
  const [top = '', ...sections] = `\n${withoutBlocks(text)}`.split(/^(?=## (?!Contents$))/m);
  const listed = linksIn(top).map(({ target }) => target);
  const headings = sections.map((section) => section.slice(0, section.indexOf('\n')));
  const anchors = anchorsIn(headings.join('\n'));
  return headings.filter((_, index) => !listed.includes(`#${anchors[index]}`));
}

/** The numbers of the lines with more than 200 characters. */
export function longLines(text: string): number[] {
  return text.split('\n').flatMap((line, index) => (line.length > LINE_LENGTH_MAX ? [index + 1] : []));
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
export function filesNamedIn(text: string): string[] {
  const spans = withoutBlocks(text).matchAll(/`([\w./-]+\.(?:[cm]?[jt]s|sql|json|md))`/g);
  return [...spans].map(([, name = '']) => name).filter((name) => !/NNNN|^[./]/.test(name));
}

function withoutBlocks(text: string): string {
  return text.replace(/^(```+).*?^\1/gms, '');
}
