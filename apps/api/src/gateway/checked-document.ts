import {
  contentOf,
  type Document,
  enforced,
  mapped,
  type Schema,
  type Schemas,
  successOf,
} from './validate-response.js';

/** What a schema says about a value without excluding any. */
const NOTES = ['title', 'description', 'example', 'examples', 'deprecated', 'x-provenance'];

/**
 * The document of a gateway. For a successful response it promises what the gateway checks, and describes the rest: another deployment need
 * not follow the rules of ours.
 *
 * @param text the document of a deployment with its own books, as JSON
 */
export function checkedDocument(text: string): string {
  const document = JSON.parse(text) as Document;
  const { paths, components } = document;
  const { schemas } = components;
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const sent = namesIn(operations.map(successOf), schemas);
  const checked = (schema: Schema, name?: string) => noted(schema, enforced(schema, schemas, name));
  for (const operation of operations) {
    const content = contentOf(operation);
    if (content) content.schema = checked(content.schema);
  }
  const changed = mapped(Object.entries(schemas), (schema, name) => (sent.has(name) ? checked(schema, name) : schema));
  return JSON.stringify({ ...document, components: { ...components, schemas: changed } });
}

/** The rules, with the notes of the schema that they were made from, down to its nested schemas. */
function noted(schema: Schema, rules: Schema): Schema {
  const { properties, items, additionalProperties, allOf } = schema;
  return {
    ...Object.fromEntries(NOTES.flatMap((note) => (note in schema ? [[note, schema[note]]] : []))),
    ...rules,
    ...(properties && {
      properties: mapped(Object.entries(properties), (field, name) => noted(field, rules.properties?.[name] ?? {})),
    }),
    ...(items && rules.items && { items: noted(items, rules.items) }),
    ...(typeof additionalProperties === 'object' &&
      typeof rules.additionalProperties === 'object' && {
        additionalProperties: noted(additionalProperties, rules.additionalProperties),
      }),
    ...(allOf && rules.allOf && { allOf: allOf.map((one, index) => noted(one, rules.allOf![index]!)) }),
  };
}

/** The names of the schemas that the values of these are made of. */
function namesIn(values: unknown, schemas: Schemas, found = new Set<string>()): Set<string> {
  for (const [, name] of JSON.stringify(values).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name!)) continue;
    found.add(name!);
    namesIn(schemas[name!], schemas, found);
  }
  return found;
}
