import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Draft, Example } from '../http/operation.decorator.js';

/** Answers of a fresh demo world, written by `npm run examples` and repeated by a test. */
const RECORDED = join(__dirname, '..', '..', 'examples');

/** A parameter, as far as examples change it. */
interface Parameter {
  readonly name: string;
  readonly in: string;
}

/** The answers of all examples by name. One that is not recorded yet has no value. */
export function answersOf({ operation, examples }: Draft) {
  const entries = examples.map(({ name, summary }) => {
    const file = join(RECORDED, operation, `${name}.json`);
    const value: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
    return [name, { summary, ...(value !== undefined && { value }) }] as const;
  });
  return Object.fromEntries(entries);
}

/** Parameters with values that work: one for all examples, or one to choose for each. */
export function filledIn<P extends object>(parameters: readonly P[], examples: readonly Example[]) {
  return parameters.map((parameter) => {
    const { name } = parameter as unknown as Parameter;
    const values = examples.flatMap((example) => {
      const value = example.values?.[name];
      return value === undefined ? [] : [{ ...example, value }];
    });
    if (new Set(values.map(({ value }) => value)).size < 2) {
      return values[0] ? { ...parameter, example: values[0].value } : parameter;
    }
    const choices = values.map((choice) => [choice.name, { summary: choice.summary, value: choice.value }] as const);
    return { ...parameter, examples: Object.fromEntries(choices) };
  });
}

/** What an operation answers in the demo world: which values to try, and the first of them to copy into a shell. */
export function examplesText(
  path: string,
  isPublic: boolean,
  parameters: readonly object[],
  examples: readonly Example[],
): string {
  // prettier-ignore
  const [first] = examples;
  if (first === undefined) return '';
  const list = parameters as unknown as readonly Parameter[];
  const choice = list.find(({ name }) => new Set(examples.map(({ values }) => values?.[name])).size > 1);
  const rows = choice ? examples.map(({ values, summary }) => `| \`${values?.[choice.name]}\` | ${summary} |`) : [];
  const table = choice ? [[`| \`${choice.name}\` | In the demo world |`, '|---|---|', ...rows].join('\n')] : [];
  return [...table, ['```sh', curl(path, isPublic, list, first), '```'].join('\n')].join('\n\n');
}

/** `BASE_URL` and `TOKEN` are set once, as the introduction says. */
function curl(path: string, isPublic: boolean, parameters: readonly Parameter[], { values = {} }: Example): string {
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
  const headers = parameters.filter((parameter) => parameter.in === 'header' && values[parameter.name] !== undefined).map(({ name }) => `-H '${name}: ${values[name]}'`); // prettier-ignore
  const token = isPublic ? [] : ['-H "Authorization: Bearer $TOKEN"'];
  return [`curl -s "$BASE_URL${target}"`, ...token, ...headers].join(' \\\n  ');
}
