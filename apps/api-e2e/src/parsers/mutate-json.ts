import { type MutationSource, mutateText } from './mutate-text.js';

/** An object or array, by the names of its members. */
type Holder = Record<string, unknown>;

const ODD_VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 0.5, 1e300, 2 ** 53, -(2 ** 53), '', '0', ' ', 'null', [], [[]], [null], {}],
  ...[{ length: 1 }, { toString: 1, toJSON: 1, then: 1 }],
];
const ODD_NAMES = ['__proto__', 'constructor', 'toString', 'length', 'then', 'id', '', '0', '~1', '\ud800'];
const DEPTHS = [1, 2, 63, 64, 65, 500];

/** Changes one value, name or member of a JSON text. Other texts, and some JSON texts, are changed as texts. */
export function mutateInput(text: string, source: MutationSource): string {
  const { random, lengthMax } = source;
  if (random.isOneIn(4)) return mutateText(text, source);
  const top = holderIn(text);
  if (top === undefined) return mutateText(text, source);
  try {
    for (let times = 1 + random.below(3); times > 0; times -= 1) changeIn(holderBelow(top, source), source);
    const changed = JSON.stringify(top);
    return changed.length <= lengthMax ? changed : mutateText(text, source);
  } catch (error) {
    // Serialization is recursive, so a text can be nested too deeply for it.
    if (error instanceof RangeError) return mutateText(text, source);
    throw error;
  }
}

function holderIn(text: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isHolder(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null;

/** A random object or array at or below `top`. */
function holderBelow(top: Holder, { random }: MutationSource): Holder {
  let holder = top;
  for (;;) {
    const inner = Object.values(holder).filter(isHolder);
    if (inner.length === 0 || random.isOneIn(3)) return holder;
    holder = random.oneOf(inner);
  }
}

function changeIn(holder: Holder, source: MutationSource): void {
  const { random, tokens, inputs } = source;
  const names = Object.keys(holder);
  const name = names.length > 0 ? random.oneOf(names) : '0';
  const value = holder[name];
  switch (random.below(9)) {
    case 0:
      return setIn(holder, name, structuredClone(random.oneOf(ODD_VALUES)));
    case 1:
      delete holder[name];
      return;
    case 2:
      return setIn(holder, random.oneOf([...ODD_NAMES, ...tokens]), structuredClone(value) ?? 1);
    case 3:
      return setIn(holder, name, nested(value, random.oneOf(DEPTHS)));
    case 4:
      if (Array.isArray(holder)) holder.push(...structuredClone(holder as unknown[]).slice(0, 50));
      return;
    case 5: {
      const other = inputs.length > 0 ? holderIn(random.oneOf(inputs)) : undefined;
      if (other === undefined) return;
      const from = holderBelow(other, source);
      for (const [key, inner] of Object.entries(from).slice(0, 1 + random.below(3))) setIn(holder, key, inner);
      return;
    }
    case 6:
      return setIn(holder, name, tokens.length > 0 ? random.oneOf(tokens) : value);
    default:
      if (typeof value === 'string') setIn(holder, name, mutateInput(value, source));
      else if (typeof value === 'number') setIn(holder, name, value + random.oneOf([-1, 1, 0.5, 2 ** 31, 2 ** 53]));
  }
}

/** Sets a member, `__proto__` too. */
function setIn(holder: Holder, name: string, value: unknown): void {
  Object.defineProperty(holder, Array.isArray(holder) && !/^[0-9]{1,3}$/.test(name) ? '0' : name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function nested(value: unknown, depth: number): unknown {
  let outer = value;
  for (let level = 0; level < depth; level += 1) outer = level % 2 === 0 ? [outer] : { a: outer };
  return outer;
}
