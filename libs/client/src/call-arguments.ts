import { type OrderName, parseId, Refusal } from '@banking/domain';

/** The query string of the defined members, in which a list repeats its name, or an empty string. */
export function search(query: object): string {
  const given = Object.entries(query as Readonly<Record<string, unknown>>).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one] as const),
  );
  const sent = given.filter(([, value]) => value !== undefined).map(([name, value]) => [name, String(value)]);
  const text = new URLSearchParams(sent).toString();
  return text === '' ? '' : `?${text}`;
}

/** An id in a path. Callers without types may pass anything, and only an id may become part of a path. */
export function digits(id: number, reason: 'id_malformed' | 'workspace_id_invalid' = 'id_malformed'): string {
  const text = String(id);
  if (typeof id !== 'number' || parseId(text) === undefined) throw new Refusal(reason);
  return text;
}

export const orderPath = ({ accountId, orderId }: OrderName): string =>
  `accounts/${digits(accountId)}/orders/${digits(orderId)}`;

/** A country as one segment of a path. An empty text, dots and lone surrogates are refused: they would change the path. */
export function segment(country: string): string {
  if (/^\.{0,2}$|\p{Surrogate}/u.test(country)) throw new Refusal('country_unknown');
  return encodeURIComponent(country);
}
