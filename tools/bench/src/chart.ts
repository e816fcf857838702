import { type Figure, isReached } from './figures.js';
import { shownNumber } from './table.js';
import type { Summary } from './summary.js';

/** Lengths in pixels. */
const WIDTH = 1_000;
const MARGIN = 24;
const LABELS = 400;
const VALUES = 170;
const TOP = 96;
const BAR = 13;
const ROW = 54;
const BOTTOM = 62;
/** The axis ends here at least, so that controls do not fill the chart. */
const SCALE_MIN = 1.25;
/** Characters that fit beside the bars. */
const LABEL_MAX = 52;

/** A picture has no access to the colours of the page, so it has a background of its own, by the reader's preference. */
const STYLE = `
  svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --ours: #0969da; --control: #afb8c1; --aim: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --line: #3d444d; --ours: #4493f8; --control: #656c76; --aim: #f0883e }
  }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif; fill: var(--ink) }
  .title { font-size: 18px; font-weight: 600 }
  .faint { font-size: 11.5px; fill: var(--faint) }
  .paper { fill: var(--paper) } .ours { fill: var(--ours) } .control { fill: var(--control) }
  .grid { stroke: var(--line) } .aim { stroke: var(--aim); stroke-width: 2.5 }`;

type Charted = Figure & { readonly perSecond: NonNullable<Figure['perSecond']>; readonly control: string };

/** Bars of the service and of its control. Each row has a scale of its own, on which the control is 1. */
export function chartOf({ environment, date, benches }: Summary): string {
  const rows = benches.flatMap(({ figures }) => figures).filter(isCharted);
  const highest = Math.max(SCALE_MIN, ...rows.map(({ value, aim = 0 }) => Math.max(value, aim)));
  const scaleMax = Math.ceil(highest * 4) / 4;
  const axis: Axis = { scaleMax, xOf: (ratio) => LABELS + (ratio / scaleMax) * (WIDTH - LABELS - VALUES) };
  const height = TOP + rows.length * ROW + BOTTOM;
  const { cores, node, postgres } = environment;
  const title = 'Requests and orders a second of the service, compared with controls';
  const described = rows.map(({ name, control, value }) => `${name}: ${shownNumber(value)} of ${control}.`).join(' ');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(described)}</desc>
<style>${STYLE}
</style>
<rect class="paper" width="${WIDTH}" height="${height}"/>
<text class="title" x="${MARGIN}" y="34">${escaped(title)}</text>
<text class="faint" x="${MARGIN}" y="54">${cores} cores, Node ${node}, PostgreSQL ${postgres}, ${date.slice(0, 10)}. Medians of the rounds.</text>
${legend()}
${grid(axis, height)}
${rows.map((row, index) => bars(row, TOP + index * ROW, axis)).join('\n')}
</svg>
`;
}

interface Axis {
  readonly scaleMax: number;
  readonly xOf: (ratio: number) => number;
}

function isCharted(figure: Figure): figure is Charted {
  return figure.isCharted && figure.perSecond !== undefined && figure.control !== undefined;
}

function legend(): string {
  const entry = (x: number, mark: string, label: string) =>
    `${mark}<text class="faint" x="${x + 20}" y="78">${label}</text>`;
  const box = (x: number, side: string) => `<rect class="${side}" x="${x}" y="68" width="14" height="11"/>`;
  const [ours, control, aim] = [MARGIN, MARGIN + 100, MARGIN + 190];
  return [
    entry(ours, box(ours, 'ours'), 'the service'),
    entry(control, box(control, 'control'), 'control'),
    entry(aim, `<line class="aim" x1="${aim + 7}" x2="${aim + 7}" y1="66" y2="81"/>`, 'aim of the service'),
  ].join('\n');
}

function grid({ scaleMax, xOf }: Axis, height: number): string {
  const bottom = height - BOTTOM + 4;
  const step = scaleMax > 2 ? 0.5 : 0.25;
  const lines = Array.from({ length: Math.floor(scaleMax / step) + 1 }, (_, index) => index * step).map((ratio) => {
    const x = xOf(ratio).toFixed(1);
    return `<line class="grid" x1="${x}" x2="${x}" y1="${TOP - 6}" y2="${bottom}"/><text class="faint" x="${x}" y="${bottom + 16}" text-anchor="middle">${ratio}</text>`;
  });
  const middle = (xOf(0) + xOf(scaleMax)) / 2;
  return `${lines.join('\n')}\n<text class="faint" x="${middle}" y="${bottom + 38}" text-anchor="middle">Ratio to the control (the control is 1), with the figures per second beside the bars</text>`;
}

function bars(figure: Charted, y: number, { xOf }: Axis): string {
  const { name, control, value, aim, perSecond } = figure;
  const bar = (side: 'ours' | 'control', ratio: number, top: number) =>
    `<rect class="${side}" x="${xOf(0)}" y="${top}" width="${(xOf(ratio) - xOf(0)).toFixed(1)}" height="${BAR}"/>` +
    `<text class="faint" x="${WIDTH - VALUES + 16}" y="${top + 11}">${shownNumber(perSecond[side])} a second</text>`;
  const verdict = isReached(figure);
  const result = verdict === undefined ? '' : verdict ? ', reached' : ', missed';
  return [
    `<text x="${MARGIN}" y="${y + 12}">${escaped(shortened(name))}</text>`,
    `<text class="faint" x="${MARGIN}" y="${y + 28}">${escaped(shortened(control))}</text>`,
    `<text class="faint" x="${MARGIN}" y="${y + 43}">ratio ${shownNumber(value)}${aim === undefined ? '' : `, aim ${shownNumber(aim)}${result}`}</text>`,
    bar('ours', value, y + 4),
    bar('control', 1, y + 4 + BAR + 3),
    ...(aim === undefined
      ? []
      : [
          `<line class="aim" x1="${xOf(aim).toFixed(1)}" x2="${xOf(aim).toFixed(1)}" y1="${y + 1}" y2="${y + BAR + 7}"/>`,
        ]),
  ].join('\n');
}

function shortened(label: string): string {
  return label.length > LABEL_MAX ? `${label.slice(0, LABEL_MAX - 1)}…` : label;
}

const escaped = (value: string) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
