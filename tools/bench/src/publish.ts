import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { chartOf } from './chart.js';
import { readSummary, ROOT, type Summary } from './summary.js';
import { tableOf } from './table.js';

const DOCUMENT = join(ROOT, 'docs/performance.md');
/** The published run, from which the results in the document can be made again. */
export const PUBLISHED = join(ROOT, 'docs/performance.json');
const CHART = 'performance.svg';

/** The results are between these lines. */
const FROM = '<!-- results of bench publish -->';
const TO = '<!-- end of results -->';

/** Writes the results of a run into docs/performance.md, and its chart and its file beside it. */
export function publish(file: string): void {
  const summary = readSummary(file);
  if (summary.isBrief) throw new Error(`${file} is the file of a try, and its figures mean nothing`);
  writeFileSync(DOCUMENT, withResults(readFileSync(DOCUMENT, 'utf8'), summary));
  writeFileSync(join(ROOT, 'docs', CHART), chartOf(summary));
  if (resolve(file) !== PUBLISHED) copyFileSync(file, PUBLISHED);
}

/** @throws Error if the document has no place for results */
export function withResults(document: string, summary: Summary): string {
  const [before, rest] = parted(document, FROM);
  const [, after] = parted(rest, TO);
  const picture = `![Bars of the service and of its control for each comparison](${CHART})`;
  return `${before}${FROM}\n\n${tableOf(summary)}\n\n${picture}\n\n${TO}${after}`;
}

function parted(text: string, line: string): [string, string] {
  const at = text.indexOf(line);
  if (at < 0) throw new Error(`the document has no line ${line}`);
  return [text.slice(0, at), text.slice(at + line.length)];
}
