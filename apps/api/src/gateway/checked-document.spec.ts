import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { offlineDocument } from '../docs/offline-document.js';
import { checkedDocument } from './checked-document.js';
import { contentOf, type Document, responseValidator, type Schema } from './validate-response.js';

describe('the document of a gateway', () => {
  let ours: Document;
  let checked: Document;
  let examples: { operation: string; schema: Schema; value: unknown }[];
  beforeAll(async () => {
    const text = JSON.stringify(await offlineDocument());
    ours = JSON.parse(text) as Document;
    checked = JSON.parse(checkedDocument(text)) as Document;
    examples = Object.values(checked.paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => {
        const { schema, examples = {} } = (contentOf(operation) ?? {}) as { schema: Schema; examples?: object };
        return (Object.values(examples) as { value: unknown }[]).map(({ value }) => ({
          ...{ operation: operation.operationId, schema, value },
        }));
      }),
    );
  });

  /** Whether a value conforms to the document, beside the error of its first place. */
  function conforms() {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'document', components: checked.components });
    const compiled = new Map<Schema, ReturnType<typeof ajv.compile>>();
    return (schema: Schema, value: unknown) => {
      let check = compiled.get(schema);
      if (check === undefined) {
        check = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as object);
        compiled.set(schema, check);
      }
      return check(value);
    };
  }

  it('promises nothing of a response that the gateway does not check', () => {
    const inspect = responseValidator();
    const check = conforms();
    expect(examples.length).toBeGreaterThan(20);
    let passed = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...examples),
        fc.infiniteStream(fc.nat()),
        fc.jsonValue(),
        (example, numbers, other) => {
          const value = withOneChange(example.value, numbers, other);
          if (inspect({ operation: example.operation, value }) !== undefined) return;
          passed += 1;
          expect([example.operation, value, check(example.schema, value)]).toEqual([example.operation, value, true]);
        },
      ),
      { numRuns: 2_000 },
    );
    expect(passed).toBeGreaterThan(200);
  });

  it('names the same fields with the same descriptions, and leaves requests as they are', () => {
    for (const [name, { properties = {} }] of Object.entries(ours.components.schemas)) {
      const shown = checked.components.schemas[name]?.properties ?? {};

      expect(Object.keys(shown)).toEqual(Object.keys(properties));
      for (const [field, { description }] of Object.entries(properties)) {
        expect(shown[field]?.['description']).toBe(description);
      }
    }
    const { PlaceOrderInput } = checked.components.schemas;
    expect(PlaceOrderInput).toEqual(ours.components.schemas['PlaceOrderInput']);
  });

  it('lists no values and no formats of a deployment that it does not check', () => {
    const { Transaction, Currency } = checked.components.schemas;

    expect(Transaction?.properties?.['status']).toEqual(
      expect.not.objectContaining({ enum: expect.anything() as unknown }),
    );
    expect(Transaction?.properties?.['hash']).toEqual(
      expect.not.objectContaining({ pattern: expect.anything() as unknown }),
    );
    expect(Currency?.properties?.['decimals']).toMatchObject({ minimum: 0, maximum: 18 });
  });
});

/** The value with one of its parts replaced or removed, wherever the numbers lead. */
function withOneChange(value: unknown, numbers: Iterator<number>, other: unknown): unknown {
  const next = () => numbers.next().value as number;
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  if (keys.length === 0 || next() % 5 === 0) return other;
  const key = keys[next() % keys.length]!;
  const inner = (value as Record<string, unknown>)[key];
  if (!Array.isArray(value) && next() % 6 === 0) {
    return Object.fromEntries(Object.entries(value as object).filter(([name]) => name !== key));
  }
  const changed = withOneChange(inner, numbers, other);
  return Array.isArray(value)
    ? value.map((item, index) => (String(index) === key ? changed : (item as unknown)))
    : { ...(value as object), [key]: changed };
}
