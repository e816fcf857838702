import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DIFFERENCES } from './differences.js';

const MANUAL = join(__dirname, '..', '..', '..', '..', 'docs', 'gateway.md');
const HEADING = '## Differences behind a gateway';

/** The items of the list below a heading, each on one line. */
function itemsBelow(heading: string, text: string): string[] {
  const [, section = ''] = text.split(`\n${heading}\n`);
  const [, ...items] = section.split(/^##? /m)[0]!.split(/^- /m);
  return items.map((item) => item.trim().replaceAll(/\s+/g, ' '));
}

describe('differences behind a gateway', () => {
  it('are the items of the list in the manual', () => {
    const listed = itemsBelow(HEADING, readFileSync(MANUAL, 'utf8'));

    expect(listed).toEqual(DIFFERENCES.map(({ what, behind, why }) => `**${what}:** ${behind} Reason: ${why}`));
  });

  it.each(DIFFERENCES)('has a spec that observes: $what', ({ seen: [spec, words] }) => {
    expect(readFileSync(join(__dirname, spec), 'utf8')).toContain(words);
  });
});
