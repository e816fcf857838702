import type { ErrorBody } from '@banking/domain';
import type { DocumentedOperation } from './document.js';

/**
 * The refusal of malformed input without the name of the parameter or field and its rule. All operations share the example of a reason,
 * which names one of them.
 */
export function withoutName({ details, message, ...refusal }: ErrorBody): object {
  const [first] = details ?? [];
  if (first === undefined) return { ...refusal, message };
  const name = nameOf(first.path);
  const withoutRule = (text: string) => text.replaceAll(name, '<name>').replace(/ must be .*/, ' must be <rule>.');
  return {
    ...refusal,
    message: withoutRule(message),
    details: details?.map((detail) => ({ ...detail, path: '<name>', message: withoutRule(detail.message) })),
  };
}

/** The names in a refusal of malformed input that the operation neither has nor refuses as unknown. */
export function strangeNames({ parameters, requestBody }: DocumentedOperation, { details = [] }: ErrorBody): string[] {
  const bodies = Object.values(requestBody?.content['application/json'].examples ?? {}).map(
    ({ value }) => value as object,
  );
  const known = [...parameters.map(({ name }) => name), ...bodies.flatMap(Object.keys)];
  return details
    .filter(({ reason }) => !['parameter_unknown', 'field_unknown'].includes(reason))
    .map(({ path }) => nameOf(path))
    .filter((name) => !known.includes(name));
}

const nameOf = (path: string) => path.replace(/^\//, '');
