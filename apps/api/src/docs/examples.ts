import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Draft, Example } from '../http/operation.decorator.js';

export type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']>;
export type ParameterObject = Exclude<NonNullable<OperationObject['parameters']>[number], { $ref: string }>;

/** Answers of a fresh demo world, written by `npm run examples` and repeated by a test. */
const RECORDED = join(__dirname, '..', '..', 'examples');

/** The answers of all examples by name. One that is not recorded yet has no value. */
export function recordedAnswers({ operation, examples }: Draft) {
  const entries = examples.map(({ name, summary }) => {
    const file = join(RECORDED, operation, `${name}.json`);
    const value: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
    return [name, { summary, ...(value !== undefined && { value }) }] as const;
  });
  return Object.fromEntries(entries);
}

/** Parameters with values that work: one for all examples, or one to choose for each. */
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

/** What each value to choose shows; nothing where there is none to choose. */
export function tableOf(parameters: readonly ParameterObject[], examples: readonly Example[]): string | undefined {
  const choice = parameters.find((parameter) => isChosen(parameter, examples));
  if (choice === undefined) return undefined;
  const rows = examples.map(({ values, summary }) => `| \`${values?.[choice.name]}\` | ${summary} |`);
  return [`| \`${choice.name}\` | In the demo world |`, '|---|---|', ...rows].join('\n');
}

/** An example to copy into a shell. `BASE_URL` and `TOKEN` are set once, as the introduction says. */
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
  const isMeantAnyway = method === 'get' || (method === 'post' && body !== undefined);
  const verb = isMeantAnyway ? [] : [`-X ${method.toUpperCase()}`];
  const json = body ? ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`] : [];
  const command = [`curl -s "$BASE_URL${target}${search}"`, ...verb, ...token, ...headers, ...json].join(' \\\n  ');
  return ['```sh', command, '```'].join('\n');
}
