import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { OperationId } from '../access/access-check.js';

export type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']>;
export type ParameterObject = Exclude<NonNullable<OperationObject['parameters']>[number], { $ref: string }>;

/** An example request. `npm run examples` records its response in a new demo deployment, and a test repeats it. */
export interface Example {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** The values of the parameters, by name. */
  readonly values?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: object;
  /** Recorded. Undefined for a response without a body, and until `npm run examples`. */
  readonly response?: unknown;
}

/** Responses to example requests, by name. A request whose response is not recorded yet has no value. */
export type RecordedResponses = Readonly<Record<string, { readonly summary: string; readonly value?: unknown }>>;

/** The source of all examples of a document, except those of refusals. */
export interface ExampleSource {
  /** The example requests of an operation. The first one fills in "Try it out". */
  requests(operation: OperationId): readonly Example[];
  responses(operation: OperationId): RecordedResponses;
  /** The examples of fields that differ from the declared ones, by schema. */
  readonly fields: Readonly<Record<string, FieldExamples>>;
}

/** The examples of fields, and of the fields of a nested object. */
export type FieldExamples = Readonly<{ [field: string]: string | FieldExamples }>;

type ExamplesFile = Readonly<Partial<Record<OperationId, readonly Example[]>>>;

let file: ExamplesFile | undefined;
const recorded = (operation: OperationId): readonly Example[] => {
  file ??= JSON.parse(readFileSync(join(__dirname, '..', '..', 'examples.json'), 'utf8')) as ExamplesFile;
  return file[operation] ?? [];
};

/** The examples of a sandbox: requests that work in the demo data, with their recorded responses. */
export const DEMO_EXAMPLES: ExampleSource = {
  requests: recorded,
  responses: (operation) =>
    Object.fromEntries(
      recorded(operation).map(({ name, summary, response }) => [
        name,
        { summary, ...(response !== undefined && { value: response }) },
      ]),
    ),
  fields: {},
};

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

/**
 * An example to copy into a shell. The introduction sets `BASE_URL` and `TOKEN`. A required parameter without a value is a variable that
 * the caller sets.
 */
export function commandOf(
  path: string,
  parameters: readonly ParameterObject[],
  { values = {}, body }: Omit<Example, 'name' | 'summary'>,
  isPublic: boolean,
  method: string,
): string {
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    values[name] === undefined ? variable(name) : encodeURIComponent(String(values[name])),
  );
  const sentIn = (place: string) =>
    parameters.filter(({ name, in: of, required }) => of === place && (required || values[name] !== undefined));
  const headers = sentIn('header').map(({ name }) =>
    values[name] === undefined ? `-H "${name}: ${variable(name)}"` : `-H '${name}: ${values[name]}'`,
  );
  const query = sentIn('query').map(({ name }) =>
    values[name] === undefined
      ? `${name}=${variable(name)}`
      : new URLSearchParams({ [name]: String(values[name]) }).toString(),
  );
  const search = query.length > 0 ? `?${query.join('&')}` : '';
  const token = isPublic ? [] : ['-H "Authorization: Bearer $TOKEN"'];
  const isDefaultMethod = method === 'get' || (method === 'post' && body !== undefined);
  const verb = isDefaultMethod ? [] : [`-X ${method.toUpperCase()}`];
  const json = body ? ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`] : [];
  const command = [`curl -s "$BASE_URL${target}${search}"`, ...verb, ...token, ...headers, ...json].join(' \\\n  ');
  return ['```sh', command, '```'].join('\n');
}

/** `$ACCOUNT_ID` for the parameter `accountId`. */
const variable = (parameter: string) =>
  `$${parameter
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase()}`;
