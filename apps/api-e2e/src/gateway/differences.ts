/** Headers that differ between any two responses. */
export const TOLD_APART: readonly string[] = ['date', 'x-request-id'];

/** A difference that a caller or an operator observes behind a gateway. */
export interface Difference {
  readonly what: string;
  readonly behind: string;
  readonly why: string;
  /** The spec that observes the difference, and words of that spec. */
  readonly seen: readonly [spec: string, words: string];
}

/** All differences, as docs/gateway.md lists them. Every other byte is the same. */
export const DIFFERENCES: readonly Difference[] = [
  {
    what: 'OpenAPI document',
    behind:
      'Every operation that calls the upstream also lists 502 and 504 `upstream_timeout`. Of a response it promises only what the gateway checks.',
    why: 'A deployment with its own books waits for no other deployment.',
    seen: ['equal.spec.ts', 'documents the same interface, except for the responses of a gateway'],
  },
  {
    what: '502 or 504 to a creation with an unknown outcome',
    behind:
      'The response carries the `Idempotency-Key` to retry with. The gateway generates the key if the caller sent none. `upstream_error` and `upstream_timeout` mean the same as `outcome_unknown`.',
    why: 'The upstream may have executed the request.',
    seen: ['unknown-outcome.spec.ts', 'returns a generated key to retry with'],
  },
  {
    what: 'Time to respond',
    behind: '504 after `UPSTREAM_TIMEOUT_MS`. While the circuit is open, 503 at once.',
    why: 'A longer wait does not help the caller.',
    seen: ['circuit.spec.ts', 'opens the circuit after repeated failures'],
  },
  {
    what: 'User of a token',
    behind: 'The user with the verified e-mail of the token. A token without one has no user. No subject is bound.',
    why: 'The interface lists users by their e-mail.',
    seen: ['false-lists.spec.ts', 'identifies the same user by another subject'],
  },
  {
    what: 'Role or user removed at the upstream',
    behind: 'The removal takes effect within 7 seconds instead of 1.',
    why: 'The gateway keeps the user lists for 5 seconds, and an upstream of this service for 1.',
    seen: ['real-upstream.spec.ts', 'applies the removal of a role'],
  },
  {
    what: 'Refusals of another implementation',
    behind: 'A 4xx in the published form is forwarded even if the document does not list its status, code or reason.',
    why: 'The refusal is for the caller, not for the gateway.',
    seen: ['hostile-refusals.spec.ts', 'forwards an undocumented status in the published form'],
  },
  {
    what: 'JSON',
    behind:
      'Every response is parsed and serialised again. `1.0` becomes `1`, and the last one of duplicate members remains.',
    why: 'Only validated content is forwarded.',
    seen: ['harmless-responses.ts', 'an integer written as a decimal'],
  },
  {
    what: 'Missing `edges`',
    behind: 'They are `{}`.',
    why: 'The types and the document require `edges`.',
    seen: ['hostile-responses.spec.ts', 'withoutEmptyEdges(passed)'],
  },
  {
    what: 'Many requests of one caller at once',
    behind: 'At most 32 run and 128 wait. Further ones get 429, and those that wait too long get 503.',
    why: 'One caller must not use up the connections.',
    seen: ['circuit.spec.ts', 'queues or refuses the excess requests of one caller'],
  },
  {
    what: 'Requests after a 429 of the upstream',
    behind: 'Reads, or changes, of the same workspace wait for a second.',
    why: 'One caller must not use up the rate.',
    seen: ['hostile-refusals.spec.ts', 'delays the next request of the workspace after a 429'],
  },
  {
    what: '`GET /apps`, `GET /apps/{appId}/users`',
    behind:
      'The responses are up to 6 seconds old. While the upstream responds with 429 for its user lists, they are up to a minute old.',
    why: 'They come from the lists that identify callers.',
    seen: ['real-upstream.spec.ts', 'applies the removal of a role'],
  },
  {
    what: '`/health/ready`',
    behind: 'It is ready while the upstream accepts the credential. There is no database to query.',
    why: 'Without the upstream, the gateway serves no caller.',
    seen: ['starting.spec.ts', 'waits for an unreachable upstream'],
  },
  {
    what: 'Changed products, purposes, corridors and schemas',
    behind: 'A change is visible within 2 seconds instead of 1.',
    why: 'Both deployments keep them for 1 second.',
    seen: ['equal.spec.ts', 'gives 304 for a matching ETag on both'],
  },
  {
    what: '`RATE_LIMIT_PER_SECOND`',
    behind: 'The gateway counts each caller. The upstream counts the credential as one user.',
    why: 'The upstream does not know the callers.',
    seen: ['hostile-refusals.ts', '429 with a time'],
  },
];
