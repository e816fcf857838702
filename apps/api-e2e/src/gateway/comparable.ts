/** Headers that differ between any two responses. */
const DIFFERING = ['date', 'x-request-id'];

/** The parts of a response that are equal for two deployments. */
export interface Comparable {
  readonly status: number | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

interface ComparedResponse {
  readonly status: number | undefined;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body: string;
}

/** A response without the parts that differ between any two responses. */
export function comparable({ status, headers, body }: ComparedResponse): Comparable {
  return {
    status,
    headers: [...headers].filter(([name]) => !DIFFERING.includes(name)).sort(),
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

/** The comparable parts of a response of `fetch`. */
export async function comparableResponse(response: Response): Promise<Comparable> {
  return comparable({ status: response.status, headers: response.headers, body: await response.text() });
}
