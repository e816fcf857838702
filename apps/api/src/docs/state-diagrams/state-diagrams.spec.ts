import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EVENT_TYPES,
  EXECUTION_STEPS,
  isEventType,
  ORDER_STEPS,
  PAYOUT_STEPS,
  type Steps,
  TRANSACTION_STEPS,
} from '@banking/domain';
import { drawDiagram } from './draw-diagram.js';
import { STATE_DIAGRAMS } from './state-diagrams.js';

const IMAGES = join(__dirname, '../../../../../docs/images');

const TABLES: Readonly<Record<string, Steps>> = {
  'order-states': ORDER_STEPS,
  'execution-states': EXECUTION_STEPS,
  'transaction-states': TRANSACTION_STEPS,
  'payout-states': PAYOUT_STEPS,
};

/** The contents of elements that are drawn, as a reader sees them. */
const textsOf = (svg: string, kind: 'state' | 'event'): string[] =>
  [...svg.matchAll(new RegExp(`<g class="${kind}[^"]*"><rect [^>]*/><text [^>]*>([^<]+)</text></g>`, 'g'))].map(
    ([, text]) => text!,
  );
/** Each line of a step: the states before and after, and the event. */
const stepsOf = (svg: string): string[] =>
  [...svg.matchAll(/<path class="step" d="[^"]+"><title>([^<]+)<\/title><\/path>/g)].map(([, title]) => title!);

it('there is a diagram of each table, and a picture of each diagram', () => {
  expect(STATE_DIAGRAMS.map(({ name }) => name)).toEqual(Object.keys(TABLES));
  const pictures = readdirSync(IMAGES).filter((file) => file.endsWith('-states.svg'));
  expect(pictures.sort()).toEqual(STATE_DIAGRAMS.map(({ name }) => `${name}.svg`).sort());
});

describe.each(STATE_DIAGRAMS.map((diagram) => [diagram.name, diagram] as const))('the diagram %s', (name, diagram) => {
  const table = TABLES[name]!;
  const svg = drawDiagram(diagram);
  const resource = name.replace('-states', '');
  const rows: readonly { readonly type: string; readonly steps: readonly (readonly [string | null, string])[] }[] =
    EVENT_TYPES.filter((row) => row.resource === resource);

  it('equals the committed picture, which npm run openapi writes', () => {
    expect(readFileSync(join(IMAGES, `${name}.svg`), 'utf8')).toBe(svg);
  });

  it('shows each state once, and how the resource ends in those that are final', () => {
    const drawn = [...svg.matchAll(/<g class="state ?([^"]*)"><rect [^>]*\/><text [^>]*>([^<]+)<\/text>/g)];
    const kinds = Object.fromEntries(drawn.map(([, kind, state]) => [state, kind]));
    const kindOf = (state: string) => (/^(completed|settled)$/.test(state) ? 'success' : 'failure');

    expect(drawn).toHaveLength(Object.keys(table).length);
    expect(kinds).toEqual(
      Object.fromEntries(Object.entries(table).map(([state, next]) => [state, next.length > 0 ? '' : kindOf(state)])),
    );
    for (const state of ['failed', 'cancelled']) expect(kinds[state] ?? 'failure').toBe('failure');
  });

  it('colours success green and failure red, in the picture as on the page', () => {
    const page = readFileSync(join(__dirname, '../../../docs-page/diagrams.css'), 'utf8').replace(/\s+/g, ' ');

    expect(svg).toContain('.state.success rect { fill: var(--good);');
    expect(svg).toContain('.state.failure rect { fill: var(--bad);');
    expect(page).toContain('.state.success rect { fill: #dafbe1; stroke: var(--good); }');
    expect(page).toContain('.state.failure rect { fill: #ffebe9; stroke: var(--bad); }');
  });

  it('shows each step of the table once, and no other', () => {
    const steps = stepsOf(svg).map((title) => title.replace(/: .*/, ''));
    const ofTable = Object.entries(table).flatMap(([from, next]) => next.map((to) => `${from} to ${to}`));
    expect(steps.filter((step) => !step.startsWith('new to ')).sort()).toEqual(ofTable.sort());
  });

  it('names the event of each step that has one', () => {
    const drawn = stepsOf(svg);
    const events = rows.flatMap(({ type, steps }) => steps.map(([from, to]) => `${from ?? 'new'} to ${to}: ${type}`));
    expect(drawn).toEqual(expect.arrayContaining(events));
    const others = drawn.filter((step) => !events.includes(step)).map((step) => step.split(': ')[1]!);
    const isOfTransaction = (event: string) => resource === 'payout' && /^transaction\.(completed|failed)$/.test(event);
    expect(others.filter((event) => event !== 'no event' && !isOfTransaction(event))).toEqual([]);
  });

  it('shows each type of event of the resource', () => {
    const shown = [...textsOf(svg, 'event'), ...diagram.otherEvents];
    expect(shown).toEqual(expect.arrayContaining(rows.map(({ type }) => type)));
    expect(shown.filter((type) => !isEventType(type))).toEqual([]);
    for (const type of diagram.otherEvents) expect(svg).toContain(type);
  });

  it('has boxes that do not overlap', () => {
    const boxes = [...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g)].map(
      ([, ...numbers]) => numbers.map(Number) as [number, number, number, number],
    );
    expect(boxes.length).toBeGreaterThan(4);
    for (const [index, [x, y, width, height]] of boxes.entries()) {
      const overlapping = boxes
        .slice(index + 1)
        .filter(([x2, y2, w2, h2]) => x < x2 + w2 && x2 < x + width && y < y2 + h2 && y2 < y + height);
      expect(overlapping).toEqual([]);
    }
  });

  it('has a title and a description, text as text, and refers to nothing outside of itself', () => {
    expect(svg).toContain(`role="img" aria-labelledby="${name}-title ${name}-description"`);
    expect(svg).toContain(`<title id="${name}-title">`);
    for (const step of stepsOf(svg)) expect(svg.split('</desc>')[0]).toContain(`${step}.`);
    expect(svg.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|href/);
    expect(svg).toContain('@media (prefers-color-scheme: dark)');
  });
});
