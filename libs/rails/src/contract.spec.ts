import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FORMS, LISTED_MAX } from './adapter-messages.js';

type Node = Readonly<Record<string, unknown>>;

const document = JSON.parse(readFileSync(join(__dirname, '../http-rail.openapi.json'), 'utf8')) as Node;

/** The node that a pointer of the document names. */
const at = (pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((node, name) => (node as Node | undefined)?.[name], document);

/** All nodes of the document. */
function* nodes(node: unknown = document): Generator<Node> {
  if (typeof node !== 'object' || node === null) return;
  yield node as Node;
  for (const child of Object.values(node)) yield* nodes(child);
}

describe('the contract of bank adapters', () => {
  it.each([
    ['Key', 'key'],
    ['Amount', 'amount'],
    ['Currency', 'currency'],
    ['Position', 'position'],
    ['EventId', 'eventId'],
    ['Status', 'status'],
    ['ReasonCode', 'reasonCode'],
  ] as const)('has for %s the form that is read', (schema, form) => {
    expect(at(`/components/schemas/${schema}/pattern`)).toBe(FORMS[form].source);
  });

  it('has the length of lists that is read', () => {
    const lengths = [...nodes()].flatMap(({ type, maxItems }) => (type === 'array' ? [maxItems] : []));

    expect(lengths.sort()).toEqual([100, LISTED_MAX, LISTED_MAX]);
  });

  it('refers to schemas that exist', () => {
    const names = [...nodes()].flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []));

    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => at(name.slice(1)) === undefined)).toEqual([]);
  });
});
