import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartOf } from './chart.js';
import { PUBLISHED, withResults } from './publish.js';
import { readSummary, ROOT, type Summary } from './summary.js';

const DOCUMENT = readFileSync(join(ROOT, 'docs/performance.md'), 'utf8');

const summary: Summary = {
  environment: { cpu: 'A processor', cores: 2, memoryGb: 24, node: '20.20.0', postgres: '18.1', project: '0.1.0' },
  date: '2026-11-22T12:00:00.000Z',
  isBrief: false,
  benches: [],
};

describe('the published results', () => {
  it('replace the results of an earlier run, and nothing else', () => {
    const document = '# A\n\n<!-- results of bench publish -->\n\nOld.\n\n<!-- end of results -->\n\n## B\n';

    const once = withResults(document, summary);

    expect(once).toMatch(/^# A\n\n<!-- results of bench publish -->\n\nMeasured on 2026-11-22 on 2 cores/);
    expect(once).toMatch(/performance\.svg\)\n\n<!-- end of results -->\n\n## B\n$/);
    expect(once).not.toContain('Old.');
    expect(withResults(once, summary)).toBe(once);
  });

  it('need a place in the document', () => {
    expect(() => withResults('# A\n', summary)).toThrow('the document has no line <!-- results of bench publish -->');
    expect(withResults(DOCUMENT, summary)).toContain('Measured on 2026-11-22');
  });

  it('are those of the published file', () => {
    const published = existsSync(PUBLISHED) ? readSummary(PUBLISHED) : undefined;

    if (published === undefined) {
      expect(DOCUMENT).not.toContain('performance.svg');
    } else {
      expect(withResults(DOCUMENT, published)).toBe(DOCUMENT);
      expect(readFileSync(join(ROOT, 'docs/performance.svg'), 'utf8')).toBe(chartOf(published));
    }
  });
});
