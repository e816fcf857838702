import type { Document, JsonSchema, Route } from '../documented/document.js';

/** Where a request can hold a value. `name` of a nested member is its path, such as `data.beneficiaryName`. */
export interface Position {
  readonly in: 'path' | 'query' | 'header' | 'body';
  readonly name: string;
}

type Schemas = Document['components']['schemas'];

/** A position as the tables of this folder name it: `path accountId`. */
export const nameOf = (position: Position): string => `${position.in} ${position.name}`;

/** Every position of an operation that can hold an identifier: not those with an enumeration or of the type boolean. */
export function positionsOf(document: Document, { operation }: Route): Position[] {
  const { schemas } = document.components;
  const named = operation.parameters.flatMap((parameter) =>
    membersOf(parameter.schema, parameter.name, schemas).map((name) => ({ in: parameter.in, name }) as Position),
  );
  const content = operation.requestBody?.content;
  const body = content ? membersOf(content['application/json'].schema, '', schemas) : [];
  return [...named, ...body.map((name) => ({ in: 'body' as const, name }))];
}

/** The names of the values below a schema at any depth: `*` stands for an item of a list and for a member of any name. */
function membersOf(schema: JsonSchema, name: string, schemas: Schemas): string[] {
  if (schema.$ref !== undefined) {
    const target = schemas[schema.$ref.replace('#/components/schemas/', '')];
    if (!target) throw new Error(`the document has no schema ${schema.$ref}`);
    return membersOf(target, name, schemas);
  }
  const below = (inner: string) => (name === '' ? inner : `${name}.${inner}`);
  const { properties = {}, additionalProperties, items, oneOf = [], anyOf = [], allOf = [] } = schema;
  const inner = [
    ...[...oneOf, ...anyOf, ...allOf].flatMap((part) => membersOf(part, name, schemas)),
    ...Object.entries(properties).flatMap(([member, part]) => membersOf(part, below(member), schemas)),
    ...(typeof additionalProperties === 'object' ? membersOf(additionalProperties, below('*'), schemas) : []),
    ...(items ? membersOf(items, below('*'), schemas) : []),
  ];
  if (inner.length > 0) return [...new Set(inner)];
  return schema.enum !== undefined || schema.type === 'boolean' ? [] : [name];
}
