import { TOLD_APART } from './differences.js';

/** An answer, as far as it can be compared with the one the other deployment gives. */
export interface Comparable {
  readonly status: number | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

interface Answered {
  readonly status: number | undefined;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body: string;
}

/** All of an answer but what tells one answer from another, byte for byte. */
export function comparable({ status, headers, body }: Answered): Comparable {
  return {
    status,
    headers: [...headers].filter(([name]) => !TOLD_APART.includes(name)).sort(),
    body: body.replace(/"requestId":"[^"]*"/, '"requestId":""'),
  };
}

/** JSON without empty `edges`: a gateway adds those that its upstream has left out. */
export function withoutEmptyEdges(text: string): string {
  const isEmpty = (value: unknown) => value === null || JSON.stringify(value) === '{}';
  const parsed: unknown = JSON.parse(text, (name, value: unknown) =>
    name === 'edges' && isEmpty(value) ? undefined : value,
  );
  return JSON.stringify(parsed);
}

/** The same of what `fetch` answers. */
export async function comparableResponse(response: Response): Promise<Comparable> {
  return comparable({ status: response.status, headers: response.headers, body: await response.text() });
}
