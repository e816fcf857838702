import type { OpenAPIObject } from '@nestjs/swagger';

type Json = Readonly<Record<string, unknown>>;

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const SCHEMA = ['items', 'additionalProperties', 'not'];
const SCHEMAS = ['allOf', 'anyOf', 'oneOf'];

/**
 * Writes a document of OpenAPI 3.0, which `@nestjs/swagger` makes, as one of OpenAPI 3.1, whose schemas are JSON Schema 2020-12: the
 * example of a schema is a list of `examples`, and a `$ref` stands beside a description instead of in an `allOf` of one.
 */
export function asOpenApi31(document: OpenAPIObject): OpenAPIObject {
  const { components, paths, ...others } = document;
  const { schemas = {}, ...more } = components ?? {};
  return {
    ...others,
    openapi: '3.1.0',
    paths: rewritten(paths) as OpenAPIObject['paths'],
    components: { ...(rewritten(more) as object), schemas: mapped(schemas as Json, schemaOf) as typeof schemas },
  };
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const mapped = (object: Json, change: (value: Json) => Json): Json =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value as Json)]));

/** Rewrites a part outside of schemas. The values of examples stay unchanged. */
function rewritten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewritten);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (name === 'schema') return [name, schemaOf(inner as Json)];
      return [name, name === 'example' || name === 'examples' ? inner : rewritten(inner)];
    }),
  );
}

function schemaOf(schema: Json): Json {
  const { example, allOf, properties, ...others } = schema;
  if ('nullable' in schema) throw new Error('a schema is nullable: the interface never sends null');
  const [only, ...rest] = (allOf ?? []) as readonly Json[];
  const isReference = only?.['$ref'] !== undefined && rest.length === 0;
  const whole: Json = {
    ...(isReference ? only : { ...(allOf !== undefined && { allOf }) }),
    ...others,
    ...(isObject(properties) && { properties: mapped(properties, schemaOf) }),
    ...(example !== undefined && { examples: [example] }),
  };
  return Object.fromEntries(
    Object.entries(whole).map(([name, value]) => {
      if (SCHEMA.includes(name) && isObject(value)) return [name, schemaOf(value)];
      if (SCHEMAS.includes(name)) return [name, (value as readonly Json[]).map(schemaOf)];
      return [name, value];
    }),
  );
}
