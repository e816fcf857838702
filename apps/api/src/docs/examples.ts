import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { OperationId } from '../access/access-matrix.js';

export type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']>;
export type ParameterObject = Exclude<NonNullable<OperationObject['parameters']>[number], { $ref: string }>;

/** An example request. `npm run examples` records its response in a new demo deployment, and a test repeats it. */
export interface Example {
  /** Names the recorded response: `apps/api/examples/<operation>/<name>.json`. */
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** The values of the parameters, by name. */
  readonly values?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: object;
}

const EXAMPLES = join(__dirname, '..', '..', 'examples');

/** The example requests of an operation. The first one fills in "Try it out". */
export const exampleRequests = (operation: OperationId): readonly Example[] =>
  (readJson(operation, 'requests') ?? []) as readonly Example[];

/** The recorded responses to example requests, by name. A request whose response is not recorded yet has no value. */
export function recordedResponses(operation: OperationId, examples: readonly Example[]) {
  const entries = examples.map(({ name, summary }) => {
    const value = readJson(operation, name);
    return [name, { summary, ...(value !== undefined && { value }) }] as const;
  });
  return Object.fromEntries(entries);
}

function readJson(operation: OperationId, name: string): unknown {
  const file = join(EXAMPLES, operation, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/** Adds the values of the examples to the parameters: one value, or one to choose for each example. */
export function filledIn(parameters: readonly ParameterObject[], examples: readonly Example[]): ParameterObject[] {
  return parameters.map((parameter) => {
    if (isChosen(parameter, examples)) {
      const choices = examples.map(({ name, summary, values }) => [name, { summary, value: values?.[parameter.name] }]);
      return { ...parameter, examples: Object.fromEntries(choices) as NonNullable<ParameterObject['examples']> };
    }
    const example = examples[0]?.values?.[parameter.name];
    return example === undefined ? parameter : { ...parameter, example };
  });
}

/** Whether the examples differ in this parameter. */
const isChosen = ({ name }: ParameterObject, examples: readonly Example[]) =>
  new Set(examples.map(({ values }) => values?.[name])).size > 1;

/** A table of the values to choose from. @returns undefined if there is no choice */
export function tableOf(parameters: readonly ParameterObject[], examples: readonly Example[]): string | undefined {
  const choice = parameters.find((parameter) => isChosen(parameter, examples));
  if (choice === undefined) return undefined;
  const rows = examples.map(({ values, summary }) => `| \`${values?.[choice.name]}\` | ${summary} |`);
  return [`| \`${choice.name}\` | In the demo data |`, '|---|---|', ...rows].join('\n');
}

/** An example to copy into a shell. The introduction sets `BASE_URL` and `TOKEN`. */
export function commandOf(
  path: string,
  parameters: readonly ParameterObject[],
  { values = {}, body }: Example,
  isPublic: boolean,
  method: string,
): string {
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
  const sent = parameters.filter((parameter) => parameter.in === 'header' && values[parameter.name] !== undefined);
  const headers = sent.map(({ name }) => `-H '${name}: ${values[name]}'`);
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) {
    if (place === 'query' && values[name] !== undefined) query.set(name, String(values[name]));
  }
  const search = query.size > 0 ? `?${query.toString()}` : '';
  const token = isPublic ? [] : ['-H "Authorization: Bearer $TOKEN"'];
  const isDefaultMethod = method === 'get' || (method === 'post' && body !== undefined);
  const verb = isDefaultMethod ? [] : [`-X ${method.toUpperCase()}`];
  const json = body ? ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`] : [];
  const command = [`curl -s "$BASE_URL${target}${search}"`, ...verb, ...token, ...headers, ...json].join(' \\\n  ');
  return ['```sh', command, '```'].join('\n');
}
