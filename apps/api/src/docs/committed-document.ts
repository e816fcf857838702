import type { OpenAPIObject } from '@nestjs/swagger';

type Json = Readonly<Record<string, unknown>>;
type Operation = Json & { readonly parameters: readonly (Json & { readonly name: string })[] };

/**
 * The form of a document that is committed: without examples, which `examples.json` and the rules of refusals add when it is served,
 * and with each parameter of several operations once, in the components.
 */
export function committedForm(document: OpenAPIObject): Json {
  const { paths, components, ...others } = withoutExamples(document) as Json & {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: Json;
  };
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const shared = repeated(operations.flatMap(({ parameters }) => parameters));
  const parameterOf = (parameter: Operation['parameters'][number]) =>
    textOf(shared[parameter.name]) === textOf(parameter)
      ? { $ref: `#/components/parameters/${parameter.name}` }
      : parameter;
  const shortened = mapped(paths, (item) =>
    mapped(item, (operation) => ({ ...operation, parameters: operation.parameters.map(parameterOf) })),
  );
  return { ...others, paths: shortened, components: { ...components, parameters: shared } };
}

const textOf = (value: unknown) => JSON.stringify(value);

/** By name, the first one that is there again. */
function repeated<T extends { readonly name: string }>(all: readonly T[]): Readonly<Record<string, T>> {
  const found: Record<string, T> = {};
  const seen = new Set<string>();
  for (const one of all) {
    if (seen.has(textOf(one))) found[one.name] ??= one;
    seen.add(textOf(one));
  }
  return found;
}

function mapped<T, R>(object: Readonly<Record<string, T>>, change: (value: T) => R): Readonly<Record<string, R>> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}

/** @param isMap whether the keys are names, of which `example` may be one, and no keywords */
function withoutExamples(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutExamples(one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => isMap || (name !== 'example' && name !== 'examples'))
      .map(([name, inner]) => [name, withoutExamples(inner, !isMap && name === 'properties')]),
  );
}
