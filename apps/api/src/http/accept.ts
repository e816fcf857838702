/** Whether an Accept header allows application/json (RFC 9110, section 12.5.1): the most specific range that fits decides. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(type, weight === undefined || !/^(0|1)(\.[0-9]{0,3})?$/.test(weight) ? 1 : Number(weight));
  }
  const weight = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return weight > 0;
}
