/** The headers of responses, except those for browsers alone. */
export const RESPONSE_HEADERS = {
  'X-Request-Id': {
    description:
      'The id of the request: the id you sent, if it has 1 to 128 letters, digits, dots, dashes and underscores, or else a new one.',
    schema: { type: 'string', example: '0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b' },
  },
  'RateLimit-Policy': {
    description: [
      'Requests (`q`) allowed in a number of seconds (`w`). Only if the deployment sets a limit.',
      'A page of a list counts as one request for each started hundred of its `limit`, and a table as five.',
    ].join(' '),
    schema: { type: 'string', example: '"user";q=100;w=2' },
  },
  RateLimit: {
    description:
      'Requests left (`r`), and seconds until all are available again (`t`). Only if the deployment sets a limit.',
    schema: { type: 'string', example: '"user";r=99;t=1' },
  },
  'Retry-After': {
    description: 'Whole seconds to wait before the next attempt.',
    schema: { type: 'integer', example: 1 },
  },
  'WWW-Authenticate': {
    description:
      'The authentication scheme. For `step_up_required`, also the sign-in that the operation needs (RFC 9470).',
    schema: { type: 'string', example: 'Bearer' },
  },
  'Cache-Control': {
    description: '`no-store`: do not cache. `private, no-cache`: you may cache the response and must revalidate it.',
    schema: { type: 'string', example: 'private, no-cache' },
  },
  ETag: {
    description: 'The version of the response. Send it as `If-None-Match` with the next request.',
    schema: { type: 'string', example: '"UmnHOSy_pbMjbkRjyNOEyg"' },
  },
  Location: {
    description: 'The path of the created resource on the host that was called.',
    schema: { type: 'string', example: '/accounts/22' },
  },
  'Idempotency-Key': {
    description:
      'Send the same request again with this key, which is yours if you sent one. After 502 and 504, it may have been executed.',
    schema: { type: 'string', example: '5f3c1a8b0d9e4c7fa1b2c3d4e5f60718' },
  },
  'Idempotent-Replayed': {
    description: '`true` for the response of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', example: 'true' },
  },
  Link: {
    description: [
      'For a list, a statement, or an order with many executions: the next page, `rel="next"`. Omitted on the last page.',
      'For one of two paths of an operation: the other one, `rel="canonical"` (RFC 6596).',
    ].join(' '),
    schema: { type: 'string', example: '</recipients/countries/SG/corridors>; rel="canonical"' },
  },
} as const;

type HeaderName = keyof typeof RESPONSE_HEADERS;

/** The properties of an operation that decide the headers of its responses. */
interface Marks {
  readonly isPublic: boolean;
  readonly hasCanonical: boolean;
  readonly hasETag: boolean;
  readonly isPaged: boolean;
  readonly isCreation: boolean;
  /** Whether a gateway forwards it. */
  readonly isGateway: boolean;
  /** Whether it may be refused as `outcome_unknown`. */
  readonly isChange: boolean;
}

/** The headers of one response, as references into the components. */
export function responseHeaders(status: number, operation: Marks) {
  return Object.fromEntries(namesOf(status, operation).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function namesOf(
  status: number,
  { isPublic, hasCanonical, hasETag, isPaged, isCreation, isGateway, isChange }: Marks,
): HeaderName[] {
  const isSuccess = status < 400;
  const isInDoubt = status === 504 || (isGateway && status === 502);
  const names: HeaderName[] = ['X-Request-Id', 'Cache-Control'];
  // The rate limit is checked after the credential.
  if (!isPublic && status !== 401) names.push('RateLimit-Policy', 'RateLimit');
  if (status === 401) names.push('WWW-Authenticate');
  // A conflict passes with time only for a creation.
  if ((status === 409 && isCreation) || status === 429 || status === 503) names.push('Retry-After');
  if (isChange && status === 504) names.push('Retry-After');
  // A gateway generates a key for a request that has none.
  if (isCreation && (isInDoubt || (isGateway && status === 202))) names.push('Idempotency-Key');
  if (hasETag && isSuccess) names.push('ETag');
  if (isCreation && isSuccess) names.push('Location', 'Idempotent-Replayed');
  if (isPaged && isSuccess) names.push('Link');
  // The route sets it, so refusals before the route do not have it.
  if (hasCanonical && (isSuccess || status === 404)) names.push('Link');
  return names;
}
