import { placeDiagram, type Placement } from './place-diagram.js';
import type { DrawnState, StateDiagram, Transition } from './state-diagrams.js';

/** Lengths in pixels. */
const MARGIN = 20;
const TITLE = 44;
const ROW = 46;
const STATE = 32;
const EVENT = 22;
const CURVE = 34;
const START = 7;
const PADDING = 14;
const BACK = 34;
const NOTE = 30;

/** Estimates of the width of a character, a little more than in common fonts. */
const STATE_CHARACTER = 7.6;
const EVENT_CHARACTER = 6.5;

/** A picture has no access to the colours of the page, so it has a background of its own, by the preference of the reader. */
const STYLE = `
  svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #818b98; --state: #ddf4ff; --edge: #0969da; --good: #dafbe1; --good-edge: #1a7f37; --bad: #ffebe9; --bad-edge: #cf222e }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --line: #656c76; --state: #121d2f; --edge: #4493f8; --good: #12261e; --good-edge: #3fb950; --bad: #25171c; --bad-edge: #f85149 }
  }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif; fill: var(--ink) }
  .heading { font-size: 16px; font-weight: 600 }
  .state text { font-weight: 600; text-anchor: middle }
  .event text { font-size: 12px; text-anchor: middle }
  .note { font-size: 12px; fill: var(--faint) }
  .paper { fill: var(--paper) }
  .state rect { fill: var(--state); stroke: var(--edge); stroke-width: 1.5 }
  .state.success rect { fill: var(--good); stroke: var(--good-edge) }
  .state.failure rect { fill: var(--bad); stroke: var(--bad-edge) }
  .event rect { fill: var(--paper); stroke: var(--line) }
  .step { fill: none; stroke: var(--line); stroke-width: 1.5 }
  .arrow, .start { fill: var(--line) }`;

/** A diagram as SVG: the same bytes for the same tables. */
export function drawDiagram(diagram: StateDiagram): string {
  const placement = placeDiagram(diagram);
  const columns = columnsOf(diagram, placement);
  const last = columns.at(-1)!;
  const width = Math.ceil(last.x + last.width + MARGIN);
  const bottom = TITLE + placement.rowCount * ROW;
  const notesAt = bottom + placement.back.length * BACK;
  const height = notesAt + (diagram.otherEvents.length > 0 ? NOTE : 8);
  const ids = { title: `${diagram.name}-title`, description: `${diagram.name}-description` };
  const geometry: Geometry = { placement, columns, bottom };
  const notes = `Without a change of the status: ${diagram.otherEvents.join(', ')}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"` +
      ` class="state-diagram" role="img" aria-labelledby="${ids.title} ${ids.description}">`,
    `<title id="${ids.title}">${diagram.title}</title>`,
    `<desc id="${ids.description}">${describe(diagram)}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    `<text class="heading" x="${MARGIN}" y="28">${diagram.title}</text>`,
    ...placement.forward.map(({ transition, row }) => drawForward(geometry, transition, row)),
    ...placement.back.map((transition, index) => drawBack(geometry, transition, index)),
    drawStart(geometry),
    ...diagram.states.map((state) => drawState(geometry, state)),
    ...(diagram.otherEvents.length > 0 ? [`<text class="note" x="${MARGIN}" y="${notesAt + 14}">${notes}</text>`] : []),
    '</svg>',
    '',
  ].join('\n');
}

/** The steps as text, for readers who do not see the picture. */
function describe({ states, transitions, otherEvents }: StateDiagram): string {
  const steps = transitions.flatMap(({ from, to, event }) => from.map((one) => `${titleOf(one, to, event)}.`));
  const endsIn = (end: DrawnState['end']) => states.filter((state) => state.end === end).map(({ name }) => name);
  return [
    ...steps,
    `Final after success: ${endsIn('success').join(', ')}. Final without success: ${endsIn('failure').join(', ')}.`,
    ...(otherEvents.length > 0 ? [`Events without a change of the status: ${otherEvents.join(', ')}.`] : []),
  ].join(' ');
}

const titleOf = (from: string | null, to: string, event = 'no event') => `${from ?? 'new'} to ${to}: ${event}`;

interface Column {
  readonly x: number;
  readonly width: number;
}

interface Geometry {
  readonly placement: Placement;
  readonly columns: readonly Column[];
  /** The lower end of the rows. */
  readonly bottom: number;
}

const yOf = (row: number) => TITLE + row * ROW + ROW / 2;
const stateWidth = (name: string) => Math.round(name.length * STATE_CHARACTER + 2 * PADDING);
const eventWidth = (event: string) => Math.round(event.length * EVENT_CHARACTER + 16);

function columnsOf({ states }: StateDiagram, placement: Placement): readonly Column[] {
  const widths = Array.from({ length: placement.columnCount }, (_, column) => (column === 0 ? 2 * START : 0));
  const widen = (column: number, width: number) => (widths[column] = Math.max(widths[column] ?? 0, width));
  for (const { name } of states) widen(placement.states.get(name)!.column, stateWidth(name));
  for (const { transition } of placement.forward) {
    const column = placement.states.get(transition.to)!.column - 1;
    if (transition.event !== undefined) widen(column, eventWidth(transition.event));
  }
  let x = MARGIN;
  return widths.map((width) => {
    const column = { x, width };
    x += width + CURVE;
    return column;
  });
}

/** A curve between two points that is level at both. */
function curve(fromX: number, fromY: number, toX: number, toY: number): string {
  if (fromY === toY) return `L ${toX} ${toY}`;
  const middle = Math.round((fromX + toX) / 2);
  return `C ${middle} ${fromY} ${middle} ${toY} ${toX} ${toY}`;
}

const right = ({ x, width }: Column) => x + width;

/** Lines from its states to the event, and an arrow from the event to the next state. */
function drawForward({ placement, columns }: Geometry, { from, to, event }: Transition, row: number): string {
  const y = yOf(row);
  const target = placement.states.get(to)!;
  const label = columns[target.column - 1]!;
  const width = event === undefined ? 0 : eventWidth(event);
  const labelX = label.x + (label.width - width) / 2;
  const targetX = endsOf(columns[target.column]!, stateWidth(to)).left;
  const lines = from.map((state) => {
    const place = state === null ? placement.start : placement.states.get(state)!;
    const column = columns[place.column]!;
    const x = endsOf(column, state === null ? 2 * START : stateWidth(state)).right;
    const joint = right(column) + CURVE;
    const begin = `M ${x} ${yOf(place.row)} L ${right(column)} ${yOf(place.row)}`;
    const path = `${begin} ${curve(right(column), yOf(place.row), joint, y)} L ${labelX} ${y}`;
    return `<path class="step" d="${path}"><title>${titleOf(state, to, event)}</title></path>`;
  });
  const targetY = yOf(target.row);
  const out = `M ${labelX + width} ${y} L ${right(label)} ${y} ${curve(right(label), y, columns[target.column]!.x, targetY)} L ${targetX - 6} ${targetY}`;
  return [
    ...lines,
    `<path class="step" d="${out}"/>`,
    `<path class="arrow" d="M ${targetX - 1} ${targetY} l -8 -4.5 v 9 z"/>`,
    ...(event === undefined ? [] : [drawEvent(event, labelX + width / 2, y)]),
  ].join('\n');
}

/** A line below the rows, from below a state to below an earlier one. */
function drawBack({ placement, columns, bottom }: Geometry, { from, to, event }: Transition, index: number): string {
  const y = bottom + index * BACK + BACK / 2 - 2;
  const target = placement.states.get(to)!;
  const middleOf = (column: number) => columns[column]!.x + columns[column]!.width / 2;
  const targetX = middleOf(target.column);
  const targetY = yOf(target.row) + STATE / 2;
  const lines = from.map((state) => {
    const place = placement.states.get(state ?? '')!;
    const x = middleOf(place.column);
    const path = `M ${x} ${yOf(place.row) + STATE / 2} V ${y - 8} Q ${x} ${y} ${x - 8} ${y} H ${targetX + 8} Q ${targetX} ${y} ${targetX} ${y - 8} V ${targetY + 6}`;
    return `<path class="step" d="${path}"><title>${titleOf(state, to, event)}</title></path>`;
  });
  const middle = (targetX + middleOf(placement.states.get(from[0] ?? '')!.column)) / 2;
  return [
    ...lines,
    `<path class="arrow" d="M ${targetX} ${targetY + 1} l -4.5 8 h 9 z"/>`,
    ...(event === undefined ? [] : [drawEvent(event, middle, y)]),
  ].join('\n');
}

/** The left and the right end of something in the middle of a column. */
const endsOf = ({ x, width }: Column, of: number) => ({ left: x + (width - of) / 2, right: x + (width + of) / 2 });

const drawEvent = (event: string, x: number, y: number): string => {
  const width = eventWidth(event);
  const box = `<rect x="${x - width / 2}" y="${y - EVENT / 2}" width="${width}" height="${EVENT}" rx="${EVENT / 2}"/>`;
  return `<g class="event">${box}<text x="${x}" y="${y + 4}">${event}</text></g>`;
};

const drawStart = ({ placement: { start }, columns }: Geometry): string =>
  `<circle class="start" cx="${columns[0]!.x + START}" cy="${yOf(start.row)}" r="${START}"><title>new</title></circle>`;

function drawState({ placement, columns }: Geometry, { name, end }: DrawnState): string {
  const { column, row } = placement.states.get(name)!;
  const width = stateWidth(name);
  const { left } = endsOf(columns[column]!, width);
  const y = yOf(row);
  const box = `<rect x="${left}" y="${y - STATE / 2}" width="${width}" height="${STATE}" rx="6"/>`;
  return `<g class="state${end ? ` ${end}` : ''}">${box}<text x="${left + width / 2}" y="${y + 4.5}">${name}</text></g>`;
}
