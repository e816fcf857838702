/** The media types of an operation that declares none. */
export const JSON_ONLY = ['application/json'] as const;

/**
 * Selects the media type of the response by an Accept header (RFC 9110, section 12.5.1): by weight, then by exactness of the range, then
 * by the order of `offered`. The most specific matching range sets the weight of a type. Undefined if the header allows none.
 */
export function preferredType<T extends string>(accept: string | undefined, offered: readonly T[]): T | undefined {
  if (accept === undefined || accept.trim() === '') return offered[0];
  const weights = weightsOf(accept);
  const choices = offered.map((type) => {
    const ranges = [type, `${type.split('/', 1)[0]}/*`, '*/*'];
    const fit = ranges.findIndex((range) => weights.has(range));
    return { type, weight: weights.get(ranges[fit] ?? '') ?? 0, exactness: -fit };
  });
  const [best] = choices
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight || b.exactness - a.exactness);
  return best?.type;
}

function weightsOf(accept: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(type, weight === undefined || !/^(0|1)(\.[0-9]{0,3})?$/.test(weight) ? 1 : Number(weight));
  }
  return weights;
}
