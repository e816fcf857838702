import type { StateDiagram, Transition } from './state-diagrams.js';

/** Where the parts of a diagram are: columns from the left, and rows from the top. States are in columns of their own. */
export interface Placement {
  readonly columnCount: number;
  readonly rowCount: number;
  readonly states: ReadonlyMap<string, Place>;
  /** The row of a new resource. Its column is 0. */
  readonly start: Place;
  /** Transitions to the right, and the row of each. */
  readonly forward: readonly { readonly transition: Transition; readonly row: number }[];
  /** Transitions to the left, which go back below the others. */
  readonly back: readonly Transition[];
}

interface Place {
  readonly column: number;
  readonly row: number;
}

/** A part that has a row: a state, the start, or a transition from behind its first state to before its last one. */
interface Part {
  readonly from: number;
  readonly to: number;
  row: number;
}

const START = null;
const CROSSING_COST = 12;
const BEND_COST = 1;
/** The line to its target is straight, if possible. */
const TARGET_COST = 2;
/** Parts of one column are in the order of the tables, if nothing else decides. */
const ORDER_COST = 0.1;

/** Rows are chosen by moves and exchanges of parts, as long as one of them improves the diagram. */
export function placeDiagram({ states, transitions }: StateDiagram): Placement {
  const ranks = ranksOf(transitions);
  const rankOf = (state: string | null) => (state === START ? 0 : (ranks.get(state) ?? 0));
  const isForward = ({ from, to }: Transition) => from.every((state) => rankOf(state) < rankOf(to));
  const forward = transitions.filter(isForward);
  const partOfState = new Map<string | null, Part>();
  for (const name of [START, ...states.map(({ name: state }) => state)]) {
    partOfState.set(name, { from: 2 * rankOf(name), to: 2 * rankOf(name), row: 0 });
  }
  const lines = forward.map((transition) => ({
    transition,
    part: {
      from: 2 * Math.min(...transition.from.map(rankOf)) + 1,
      to: 2 * rankOf(transition.to) - 1,
      row: 0,
    },
  }));
  const parts = [...partOfState.values(), ...lines.map(({ part }) => part)];
  const links = lines.flatMap(({ transition, part }) => [
    ...transition.from.map((state) => ({
      at: 2 * rankOf(state),
      one: partOfState.get(state)!,
      other: part,
      cost: BEND_COST,
    })),
    { at: part.to, one: part, other: partOfState.get(transition.to)!, cost: TARGET_COST },
  ]);
  spread(parts);
  const pairs = lines.map(({ transition, part }) => [part, partOfState.get(transition.to)!]);
  improve(parts, links, [...parts.map((part) => [part]), ...pairs]);

  const rows = parts.map(({ row }) => row);
  const top = Math.min(...rows);
  const placeOf = ({ from, row }: Part): Place => ({ column: from, row: row - top });
  return {
    columnCount: 2 * Math.max(...states.map(({ name }) => rankOf(name))) + 1,
    rowCount: Math.max(...rows) - top + 1,
    states: new Map(states.map(({ name }) => [name, placeOf(partOfState.get(name)!)])),
    start: placeOf(partOfState.get(START)!),
    forward: lines.map(({ transition, part }) => ({ transition, row: part.row - top })),
    back: transitions.filter((transition) => !isForward(transition)),
  };
}

/** The longest way from the start to each state. A step to a state on the way to its own begins a way back, and is left out. */
function ranksOf(transitions: readonly Transition[]): ReadonlyMap<string, number> {
  const ranks = new Map<string, number>();
  const visit = (state: string | null, rank: number, way: readonly (string | null)[]) => {
    if (state !== START) ranks.set(state, Math.max(rank, ranks.get(state) ?? 0));
    for (const { from, to } of transitions)
      if (from.includes(state) && !way.includes(to)) visit(to, rank + 1, [...way, state, to]);
  };
  visit(START, 0, []);
  return ranks;
}

/** The parts of one column below each other. */
function spread(parts: readonly Part[]): void {
  for (const part of parts) while (isTaken(part, parts)) part.row += 1;
}

const isTaken = (part: Part, parts: readonly Part[]): boolean =>
  parts.some((other) => other !== part && other.row === part.row && other.from <= part.to && part.from <= other.to);

interface Link {
  readonly at: number;
  readonly one: Part;
  readonly other: Part;
  readonly cost: number;
}

function costOf(parts: readonly Part[], links: readonly Link[]): number {
  if (parts.some((part) => isTaken(part, parts))) return Infinity;
  const rows = parts.map(({ row }) => row);
  let cost = (Math.max(...rows) - Math.min(...rows)) * 0.5;
  for (const [index, part] of parts.entries()) {
    const isAbove = (other: Part) => other.from === part.from && other.to === part.to && other.row < part.row;
    cost += parts.slice(index + 1).filter(isAbove).length * ORDER_COST;
  }
  for (const [index, { at, one, other, cost: bend }] of links.entries()) {
    cost += Math.abs(one.row - other.row) ** 1.5 * bend;
    for (const next of links.slice(index + 1)) {
      const isCrossing = next.at === at && (one.row - next.one.row) * (other.row - next.other.row) < 0;
      if (isCrossing) cost += CROSSING_COST;
    }
    // A line that passes this column crosses the link between its rows.
    for (const part of parts) {
      const isPassing = part !== one && part !== other && part.from <= at && part.to > at;
      if (isPassing && (part.row - one.row) * (part.row - other.row) < 0) cost += CROSSING_COST;
    }
  }
  return cost;
}

/** Moves and exchanges parts alone, and each transition together with its next state. */
function improve(parts: readonly Part[], links: readonly Link[], groups: readonly (readonly Part[])[]): void {
  const limit = parts.length;
  let best = costOf(parts, links);
  let isBetter = true;
  const attempt = (change: () => void) => {
    const former = parts.map(({ row }) => row);
    change();
    const cost = costOf(parts, links);
    if (cost < best - 1e-9) [best, isBetter] = [cost, true];
    else parts.forEach((part, index) => (part.row = former[index]!));
  };
  while (isBetter) {
    isBetter = false;
    for (const [index, group] of groups.entries()) {
      for (let row = -limit; row <= limit; row += 1) attempt(() => group.forEach((part) => (part.row = row)));
      for (const other of groups.slice(index + 1)) {
        const [one, another] = [group[0]!.row, other[0]!.row];
        attempt(() => {
          group.forEach((part) => (part.row = another));
          other.forEach((part) => (part.row = one));
        });
      }
    }
  }
}
