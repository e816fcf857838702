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
import { STATE_DIAGRAMS } from './introduction.js';

const IMAGES = join(__dirname, '../../../../docs/images');

const TABLES: Readonly<Record<string, Steps>> = {
  'order-states': ORDER_STEPS,
  'execution-states': EXECUTION_STEPS,
  'transaction-states': TRANSACTION_STEPS,
  'payout-states': PAYOUT_STEPS,
};

/** The boxes of states or events: their class and text. */
const boxesOf = (svg: string, kind: 'state' | 'event') =>
  [
    ...svg.matchAll(new RegExp(`<g class="node ${kind} ?([^"]*)">\\n<path [^>]*/>\\n<text [^>]*>([^<]+)</text>`, 'g')),
  ].map(([, of = '', text = '']) => [text, of] as const);
/** Each step of the description: the states before and after, and the event. */
const stepsOf = (svg: string): string[] =>
  [.../<desc [^>]*>([^<]+)</.exec(svg)![1]!.matchAll(/(?:^|\. )(\w+ to \w+: [\w. ]+?)(?=\. )/g)].map(
    ([, step]) => step!,
  );

/** The steps without an event, whose line has an arrow of its own. */
const stepsWithout = (svg: string) => stepsOf(svg).filter((step) => step.endsWith(': no event')).length;

it('there is a diagram of each table, and a picture of each diagram', () => {
  expect(STATE_DIAGRAMS.map(({ name }) => name)).toEqual(Object.keys(TABLES));
  const pictures = readdirSync(IMAGES).filter((file) => file.endsWith('-states.svg'));
  expect(pictures.sort()).toEqual(STATE_DIAGRAMS.map(({ name }) => `${name}.svg`).sort());
});

describe.each(STATE_DIAGRAMS.map((diagram) => [diagram.name, diagram] as const))('the diagram %s', (name) => {
  const table = TABLES[name]!;
  const svg = readFileSync(join(IMAGES, `${name}.svg`), 'utf8');
  const resource = name.replace('-states', '');
  const rows: readonly { readonly type: string; readonly steps: readonly (readonly [string | null, string])[] }[] =
    EVENT_TYPES.filter((row) => row.resource === resource);

  it('shows each state once, and how the resource ends in those that are final', () => {
    const drawn = boxesOf(svg, 'state');
    const kinds = Object.fromEntries(drawn);
    const kindOf = (state: string) => (/^(completed|settled)$/.test(state) ? 'success' : 'failure');

    expect(drawn).toHaveLength(Object.keys(table).length);
    expect(kinds).toEqual(
      Object.fromEntries(Object.entries(table).map(([state, next]) => [state, next.length > 0 ? '' : kindOf(state)])),
    );
    for (const state of ['failed', 'cancelled']) expect(kinds[state] ?? 'failure').toBe('failure');
  });

  it('colours success green and failure red, in the picture as on the page', () => {
    const page = readFileSync(join(__dirname, '../../docs-page/diagrams.css'), 'utf8').replace(/\s+/g, ' ');

    expect(svg).toContain('.state.success path { fill: var(--good);');
    expect(svg).toContain('.state.failure path { fill: var(--bad);');
    expect(page).toContain('.state.success path { fill: #dafbe1; stroke: var(--good); }');
    expect(page).toContain('.state.failure path { fill: #ffebe9; stroke: var(--bad); }');
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

  it('shows each type of event of the resource, and a line for each step', () => {
    const shown = boxesOf(svg, 'event').map(([text]) => text);
    const others = /Without a change of the status: ([^<]*)</.exec(svg)?.[1]?.split(', ') ?? [];
    expect([...shown, ...others].sort()).toEqual(expect.arrayContaining(rows.map(({ type }) => type)));
    expect([...shown, ...others].filter((type) => !isEventType(type))).toEqual([]);
    const arrows = svg.match(/<polygon /g)!.length;
    const lines = svg.match(/<g class="edge step">/g)!.length;
    expect([lines - shown.length, arrows]).toEqual([stepsOf(svg).length, shown.length + stepsWithout(svg)]);
  });

  it('has a title and a description, text as text, and refers to nothing outside of itself', () => {
    expect(svg).toContain(`role="img" aria-labelledby="${name}-title ${name}-description"`);
    expect(svg).toContain(`<title id="${name}-title">`);
    expect(svg.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|href/);
    expect(svg).toContain('@media (prefers-color-scheme: dark)');
  });
});
