/** Headers that no two answers share, whoever gives them. */
export const TOLD_APART: readonly string[] = ['date', 'x-request-id'];

/** What a caller, or an operator, finds to be otherwise behind a gateway. */
export interface Difference {
  readonly what: string;
  readonly behind: string;
  readonly why: string;
  /** The spec that sees it, and words of it. */
  readonly seen: readonly [spec: string, words: string];
}

/** All there are; the table in docs/operate.md says the same. Everything else is the same, byte for byte. */
export const DIFFERENCES: readonly Difference[] = [
  {
    what: 'The OpenAPI document',
    behind: '502 and 504 `upstream_timeout` at every operation that asks the upstream',
    why: 'a deployment on its own books has nobody to wait for',
    seen: ['equal.spec.ts', 'When the documents of both are read Then they differ in the answers of a gateway and in nothing else'],
  },
  {
    what: 'An answer 502 or 504 to a creation whose outcome is not known',
    behind: 'carries the `Idempotency-Key` to repeat it with, made here where the caller sent none; `upstream_error` and `upstream_timeout` mean the same as `outcome_unknown`',
    why: 'the upstream may have done it',
    seen: ['unknown-outcome.spec.ts', 'Then it is told one, with which the order can be sent again'],
  },
  {
    what: 'Time for an answer',
    behind: 'after `UPSTREAM_TIMEOUT_MS` 504; while the circuit is open 503 at once',
    why: 'waiting longer helps nobody',
    seen: ['circuit.spec.ts', 'Then it is left alone, tried by one request'],
  },
  {
    what: 'Whom a token speaks for',
    behind: 'the user with the e-mail it carries as verified; nobody without one. No subject is bound',
    why: 'the interface lists users by their e-mail',
    seen: ['lying-lists.spec.ts', 'Then it is the same user: none is bound'],
  },
  {
    what: 'A role or a user taken away at the upstream',
    behind: 'counts for up to 6 seconds more instead of 1',
    why: 'the user lists are kept for five',
    seen: ['real-upstream.spec.ts', 'When a role is taken away Then the gateway takes it away too'],
  },
  {
    what: 'Refusals of another maker',
    behind: 'a status, code or reason that the document does not list is passed on, if it is a 4xx in the published form',
    why: 'it is said to the caller and not to us',
    seen: ['hostile-refusals.spec.ts', 'When it says a status that is in no document Then it passes'],
  },
  {
    what: 'How JSON is written',
    behind: 'every answer is read and written again: `1.0` becomes `1`, of a member that comes twice the last one is left',
    why: 'what has not been looked at is not passed on',
    seen: ['harmless-answers.ts', 'an integer written as a decimal'],
  },
  {
    what: '`edges` that the upstream leaves out',
    behind: 'are `{}`',
    why: 'our types and our document say that `edges` is there',
    seen: ['hostile-answers.spec.ts', 'withoutEmptyEdges(passed)'],
  },
  {
    what: 'Many requests of one caller at once',
    behind: 'at most 32 run and 128 wait; further ones are refused as 429, and those that wait too long as 503',
    why: 'one caller must not use up the connections',
    seen: ['circuit.spec.ts', 'When one caller sends more than their share'],
  },
  {
    what: 'Requests after a 429 of the upstream',
    behind: 'wait for a second, if they are reads, or changes, of the same workspace',
    why: 'one caller must not use up the rate',
    seen: ['hostile-refusals.spec.ts', 'Then the next request of the workspace waits, and is answered'],
  },
  {
    what: '`GET /apps`, `GET /apps/{appId}/users`',
    behind: 'are up to 5 seconds old; while the upstream answers 429 for its user lists, up to a minute',
    why: 'they are answered from the lists by which callers are known',
    seen: ['real-upstream.spec.ts', 'When a role is taken away Then the gateway takes it away too'],
  },
  {
    what: '`/health/ready`',
    behind: 'says whether the upstream answers our credential; there is no database to ask',
    why: 'without the upstream nobody is served',
    seen: ['starting.spec.ts', 'When the upstream is away at first Then it waits for it'],
  },
  {
    what: 'Products, purposes, corridors and schemas that change',
    behind: 'are seen up to 2 seconds later instead of 1',
    why: 'each of the two keeps them for one',
    seen: ['equal.spec.ts', 'Then both say that it still holds'],
  },
  {
    what: '`RATE_LIMIT_PER_SECOND`',
    behind: 'is counted by the gateway for each caller, and by the upstream for our credential, as one user',
    why: 'the upstream does not know who asks us',
    seen: ['hostile-refusals.ts', '429 with a time'],
  },
]; // prettier-ignore
