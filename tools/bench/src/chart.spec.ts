import { chartOf } from './chart.js';
import type { Figure } from './figures.js';
import type { Summary } from './summary.js';
import { tableOf } from './table.js';

const figure: Figure = {
  name: 'GET /transfers/{transferId}',
  control: 'bare & <lean>',
  unit: 'ratio',
  value: 0.5,
  min: 0.4,
  max: 0.6,
  aim: 0.65,
  isAtMost: false,
  perSecond: { ours: 2_000, control: 4_000 },
  isCharted: true,
};
const memory: Figure = {
  name: 'Memory',
  unit: 'MB',
  value: 250,
  min: 250,
  max: 250,
  aim: 260,
  isAtMost: true,
  isCharted: false,
};

const summaryOf = (...figures: Figure[]): Summary => ({
  environment: { cpu: 'A processor ', cores: 2, memoryGb: 24, node: '20.20.0', postgres: '18.1', project: '0.1.0' },
  date: '2026-11-22T12:00:00.000Z',
  isBrief: false,
  benches: [{ bench: 'reads', date: '2026-11-22T12:00:00.000Z', tookS: 60, loadBefore: 0, figures }],
});

describe('the chart of a run', () => {
  const svg = chartOf(summaryOf(figure, memory));

  it('has a bar for the service and one for its control, on one scale', () => {
    const width = (side: string) => Number(new RegExp(`class="${side}" x="400" .*?width="([0-9.]+)"`).exec(svg)?.[1]);

    expect(width('ours')).toBeGreaterThan(0);
    expect(width('ours') * 2).toBeCloseTo(width('control'), 0);
  });

  it('names the machine, the figures, the aim and the verdict as text', () => {
    for (const words of ['2 cores, Node 20.20.0, PostgreSQL 18.1, 2026-11-22', '2,000 a second', '4,000 a second']) {
      expect(svg).toContain(words);
    }
    expect(svg).toContain('ratio 0.50, aim 0.65, missed');
  });

  it('has a title and a description for readers without the picture', () => {
    expect(svg).toMatch(/<svg [^>]*role="img" aria-labelledby="title description">/);
    expect(svg).toContain('<title id="title">');
    expect(svg).toContain(
      '<desc id="description">GET /transfers/{transferId}: 0.50 of bare &amp; &lt;lean&gt;.</desc>',
    );
  });

  it('leaves out a figure without a control', () => {
    expect(svg).not.toContain('Memory');
  });

  it('refers to nothing outside of itself', () => {
    expect(svg.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|href/);
  });
});

describe('the table of a run', () => {
  const figures = [
    figure,
    { ...figure, name: 'Reached', value: 0.7, min: 0.7, max: 0.7 },
    { ...memory, name: 'Reported', aim: undefined },
  ] as Figure[];

  it('has aim, result and verdict of each figure', () => {
    const rows = tableOf(summaryOf(...figures, memory))
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => line.split('|').map((cell) => cell.trim()));

    expect(rows.slice(2).map((cells) => [cells[1], ...cells.slice(3, 6)])).toEqual([
      ['`GET /transfers/{transferId}`', '≥ 0.65', '0.50 (0.40 to 0.60); 2,000 of 4,000 a second', '**missed by 0.15**'],
      ['Reached', '≥ 0.65', '0.70; 2,000 of 4,000 a second', 'reached'],
      ['Reported', '', '250 MB', ''],
      ['Memory', '≤ 260 MB', '250 MB', 'reached'],
    ]);
  });

  it('counts the aims that were reached', () => {
    expect(tableOf(summaryOf(...figures, memory))).toContain('2 of 3 aims were reached.');
  });

  it('warns of the figures of a try', () => {
    expect(tableOf({ ...summaryOf(memory), isBrief: true })).toMatch(/^This was a try/);
  });
});
