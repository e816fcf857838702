import { parseId, Refusal } from '@banking/domain';

/** A query with what is given, and nothing where nothing is. */
export function search(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** An id as it is sent. A caller without types may hand over anything; what is no id must not become a path. */
export function digits(id: number, otherwise: 'id_malformed' | 'workspace_id_invalid' = 'id_malformed'): string {
  const text = String(id);
  if (typeof id !== 'number' || parseId(text) === undefined) throw new Refusal(otherwise);
  return text;
}

/** A country as one segment of a path: empty, dots and half a character are no country and would be another path. */
export function segment(country: string): string {
  if (/^\.{0,2}$|\p{Surrogate}/u.test(country)) throw new Refusal('country_unknown');
  return encodeURIComponent(country);
}
