import { instance } from '@viz-js/viz';

/** A picture has no access to the colours of the page, so it has a background of its own, by the preference of the reader. */
const STYLE = `
  svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #818b98; --state: #ddf4ff; --edge: #0969da; --good: #dafbe1; --good-edge: #1a7f37; --bad: #ffebe9; --bad-edge: #cf222e }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --line: #656c76; --state: #121d2f; --edge: #4493f8; --good: #12261e; --good-edge: #3fb950; --bad: #25171c; --bad-edge: #f85149 }
  }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif; fill: var(--ink) }
  .heading { font-size: 16px; font-weight: 600 }
  .state text { font-weight: 600 }
  .event text { font-size: 12px }
  .note { font-size: 12px; fill: var(--faint) }
  .paper { fill: var(--paper) }
  .state path { fill: var(--state); stroke: var(--edge); stroke-width: 1.5 }
  .state.success path { fill: var(--good); stroke: var(--good-edge) }
  .state.failure path { fill: var(--bad); stroke: var(--bad-edge) }
  .event path { fill: var(--paper); stroke: var(--line) }
  .step path { fill: none; stroke: var(--line); stroke-width: 1.5 }
  .step polygon, .start ellipse { fill: var(--line) }`;

/** Pixels above and below the graph, for the heading and the note. */
const HEADING = 44;
const NOTE = 30;

/** The final states of a resource that did what its caller asked for. */
const SUCCESSES = ['completed', 'settled'];

/** A payout ends together with its transaction, whose events tell it. */
const EVENTS_OF_TRANSACTION = { settled: 'transaction.completed', failed: 'transaction.failed' };

/**
 * Draws the states of a resource as SVG: the same bytes for the same tables.
 *
 * @param steps the table of states: the next ones of each
 * @param types the types of events of the resource, with the steps that make them
 */
export async function drawStates({ name, title }, steps, types) {
  const resource = name.replace('-states', '');
  const transitions = transitionsOf(resource, steps, types);
  const ends = Object.fromEntries(
    Object.entries(steps).map(([state, next]) => [
      state,
      next.length > 0 ? '' : SUCCESSES.includes(state) ? 'success' : 'failure',
    ]),
  );
  const otherEvents = types.filter((type) => type.steps.length === 0).map(({ type }) => type);
  const graph = (await instance()).renderString(dotOf(ends, transitions), { format: 'svg' });
  const [, width, graphHeight] = /viewBox="0\.00 0\.00 ([\d.]+) ([\d.]+)"/.exec(graph).map((text) => Math.ceil(text));
  const drawn = graph
    .slice(graph.indexOf('<g '), graph.lastIndexOf('</svg>'))
    .replaceAll(/<!--.*?-->\n|<title>.*?<\/title>\n/g, '')
    .replaceAll(/ (?:id|fill|stroke|stroke-width|font-family|font-size|font-weight|xml:space)="[^"]*"/g, '');
  const notesAt = HEADING + graphHeight;
  const height = notesAt + (otherEvents.length > 0 ? NOTE : 8);
  const note = `<text class="note" x="20" y="${notesAt + 14}">Without a change of the status: ${otherEvents.join(', ')}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"` +
      ` class="state-diagram" role="img" aria-labelledby="${name}-title ${name}-description">`,
    `<title id="${name}-title">${title}</title>`,
    `<desc id="${name}-description">${describe(ends, transitions, otherEvents)}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    `<text class="heading" x="20" y="28">${title}</text>`,
    `<g transform="translate(0 ${HEADING})">\n${drawn.trim()}\n</g>`,
    ...(otherEvents.length > 0 ? [note] : []),
    '</svg>',
    '',
  ].join('\n');
}

/** Steps to one state that make the same event, or one step without an event. `null` is a resource that is new. */
function transitionsOf(resource, steps, types) {
  const states = Object.keys(steps);
  const creations = types.flatMap((type) => type.steps).filter(([before]) => before === null);
  // One without an event of its creation begins with the first state of its table.
  const all = [
    ...(creations.length > 0 ? creations : [[null, states[0]]]),
    ...Object.entries(steps).flatMap(([from, next]) => next.map((to) => [from, to])),
  ];
  const transitions = [];
  for (const [from, to] of all) {
    const own = types.find((type) => type.steps.some(([before, after]) => before === from && after === to))?.type;
    const event = own ?? (resource === 'payout' ? EVENTS_OF_TRANSACTION[to] : undefined);
    const same = event && transitions.find((one) => one.to === to && one.event === event);
    if (same) same.from.push(from);
    else transitions.push({ from: [from], to, event });
  }
  return transitions;
}

/** An event is a node between its states. Classes become those of the SVG, whose style gives the colours. */
function dotOf(ends, transitions) {
  const id = (state) => `"${state ?? ''}"`;
  const states = Object.entries(ends).map(
    ([state, end]) =>
      `${id(state)} [class="${`state ${end}`.trim()}", label="${state}", fontsize=16, fontname="Helvetica-Bold"]`,
  );
  const lines = transitions.flatMap(({ from, to, event }, index) => {
    if (event === undefined) return from.map((one) => `${id(one)} -> ${id(to)}`);
    const node = `"event ${index}"`;
    return [
      `${node} [class="event", label="${event}", height=0.3, fontsize=13]`,
      ...from.map((one) => `${id(one)} -> ${node} [dir=none]`),
      `${node} -> ${id(to)}`,
    ];
  });
  return `digraph {
    graph [rankdir=LR, bgcolor=transparent, pad=0.25, nodesep=0.2, ranksep=0.35]
    node [shape=box, style=rounded, height=0.44, margin="0.16,0.04", fontname=Helvetica]
    edge [class=step, arrowsize=0.7]
    "" [class=start, shape=circle, fixedsize=true, width=0.2, height=0.2, label=""]
    ${[...states, ...lines].join('\n    ')}
  }`;
}

/** The steps as text, for readers who do not see the picture. */
function describe(ends, transitions, otherEvents) {
  const endsIn = (end) => Object.keys(ends).filter((state) => ends[state] === end);
  return [
    ...transitions.flatMap(({ from, to, event = 'no event' }) =>
      from.map((one) => `${one ?? 'new'} to ${to}: ${event}.`),
    ),
    `Final after success: ${endsIn('success').join(', ')}. Final without success: ${endsIn('failure').join(', ')}.`,
    ...(otherEvents.length > 0 ? [`Events without a change of the status: ${otherEvents.join(', ')}.`] : []),
  ].join(' ');
}
