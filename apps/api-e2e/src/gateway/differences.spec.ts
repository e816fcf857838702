import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DIFFERENCES } from './differences.js';

const MANUAL = join(__dirname, '..', '..', '..', '..', 'docs', 'operate.md');
const HEADING = '### What is different behind a gateway';

/** The cells of the first table below a heading, without its head. */
function rowsBelow(heading: string, text: string): string[][] {
  const lines = text.slice(text.indexOf(`\n${heading}\n`)).split('\n');
  const begin = lines.findIndex((line) => line.startsWith('|'));
  const end = lines.findIndex((line, index) => index > begin && !line.startsWith('|'));
  const cells = (line: string) => line.split('|').slice(1, -1).map((cell) => cell.trim()); // prettier-ignore
  return lines.slice(begin + 2, end).map(cells);
}

describe('Given what is different behind a gateway', () => {
  it('When the manual is read Then its table has these rows and no others', () => {
    const manual = readFileSync(MANUAL, 'utf8');

    expect(manual).toContain(`\n${HEADING}\n`);
    expect(rowsBelow(HEADING, manual)).toEqual(DIFFERENCES.map(({ what, behind, why }) => [what, behind, why]));
  });

  it.each(DIFFERENCES)('When it is "$what" Then a spec sees it', ({ seen: [spec, words] }) => {
    expect(readFileSync(join(__dirname, spec), 'utf8')).toContain(words);
  });
});
