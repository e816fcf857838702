import {
  EVENT_TYPES,
  EXECUTION_STEPS,
  ORDER_STEPS,
  PAYOUT_STEPS,
  type Steps,
  TRANSACTION_STEPS,
} from '@banking/domain';

/** Steps to one state that make the same event, or none. */
export interface Transition {
  /** The states before, in the order of the table. `null` is a resource that is new. */
  readonly from: readonly (string | null)[];
  readonly to: string;
  /** The type of the event. */
  readonly event?: string;
}

/** A state, and how the resource ends in it if it is final. */
export interface DrawnState {
  readonly name: string;
  readonly end?: 'success' | 'failure';
}

/** The final states of a resource that did what its caller asked for. */
const SUCCESSES: readonly string[] = ['completed', 'settled'];

/** The states of a resource, and the events of their steps. */
export interface StateDiagram {
  /** The name of its file, without the ending. */
  readonly name: string;
  readonly title: string;
  readonly states: readonly DrawnState[];
  readonly transitions: readonly Transition[];
  /** The types of events without a step. */
  readonly otherEvents: readonly string[];
}

type Resource = 'order' | 'execution' | 'transaction' | 'payout';

/** A payout ends together with its transaction, whose events tell it. */
const EVENTS_OF_TRANSACTION: Readonly<Record<string, string>> = {
  settled: 'transaction.completed',
  failed: 'transaction.failed',
};

function diagramOf(resource: Resource, title: string, table: Steps): StateDiagram {
  const states = Object.keys(table);
  const transitions: { from: (string | null)[]; to: string; event?: string }[] = [];
  for (const [from, to] of [...creationsOf(resource, states), ...stepsOf(table)]) {
    const event = eventOf(resource, from, to);
    const same = event === undefined ? undefined : transitions.find((one) => one.to === to && one.event === event);
    if (same) same.from.push(from);
    else transitions.push({ from: [from], to, ...(event !== undefined && { event }) });
  }
  return {
    name: `${resource}-states`,
    title,
    states: states.map((name) => ({
      name,
      ...(table[name]?.length === 0 && { end: SUCCESSES.includes(name) ? 'success' : 'failure' }),
    })),
    transitions,
    otherEvents: typesOf(resource)
      .filter(({ steps }) => steps.length === 0)
      .map(({ type }) => type),
  };
}

type Step = readonly [before: string | null, after: string];

const typesOf = (resource: Resource): readonly { readonly type: string; readonly steps: readonly Step[] }[] =>
  EVENT_TYPES.filter((row) => row.resource === resource);

const stepsOf = (table: Steps): Step[] =>
  Object.entries(table).flatMap(([from, next]) => next.map((to): Step => [from, to]));

/** The statuses of a new resource. One without an event of its creation begins with the first state of its table. */
function creationsOf(resource: Resource, [first = '']: readonly string[]): Step[] {
  const creations = typesOf(resource)
    .flatMap(({ steps }) => steps)
    .filter(([before]) => before === null);
  return creations.length > 0 ? creations : [[null, first]];
}

function eventOf(resource: Resource, from: string | null, to: string): string | undefined {
  const own = typesOf(resource).find(({ steps }) => steps.some(([before, after]) => before === from && after === to));
  return own?.type ?? (resource === 'payout' ? EVENTS_OF_TRANSACTION[to] : undefined);
}

/** In the order of a payment. */
export const STATE_DIAGRAMS: readonly StateDiagram[] = [
  diagramOf('order', 'States of an order', ORDER_STEPS),
  diagramOf('execution', 'States of an execution', EXECUTION_STEPS),
  diagramOf('transaction', 'States of a transaction', TRANSACTION_STEPS),
  diagramOf('payout', 'States of a payout', PAYOUT_STEPS),
];
