/** Every header an answer may carry that means something to a caller; those for browsers alone are left out. */
export const ANSWER_HEADERS = {
  'X-Request-Id': {
    description: 'Names the request. The id you sent, where it was one of 1 to 128 letters, digits, dots, dashes and underscores; else a new one.', // prettier-ignore
    schema: { type: 'string', example: '0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b' },
  },
  'RateLimit-Policy': {
    description: 'How many requests (`q`) may come in how many seconds (`w`). Only where the deployment sets a limit.',
    schema: { type: 'string', example: '"user";q=100;w=2' },
  },
  RateLimit: {
    description: 'How many are left (`r`), and in how many seconds all are back (`t`). Only where the deployment sets a limit.', // prettier-ignore
    schema: { type: 'string', example: '"user";r=99;t=1' },
  },
  'Retry-After': {
    description: 'Whole seconds to wait before trying again.',
    schema: { type: 'integer', example: 1 },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate.',
    schema: { type: 'string', example: 'Bearer' },
  },
  'Cache-Control': {
    description: 'Whether the answer may be kept. `no-store`: never. `private, no-cache`: by you, if you ask each time whether it still holds.', // prettier-ignore
    schema: { type: 'string', example: 'private, no-cache' },
  },
  ETag: {
    description: 'Names these bytes. Send it as `If-None-Match` when you ask again.',
    schema: { type: 'string', example: '"UmnHOSy_pbMjbkRjyNOEyg"' },
  },
  Location: {
    description: 'Where the created resource can be read: a path on the host that was called, as it stands.',
    schema: { type: 'string', example: '/accounts/22' },
  },
  'Idempotency-Key': {
    description:
      'The request may have been carried out: send the same request again with this key. It is your key where you sent one.',
    schema: { type: 'string', example: '5f3c1a8b0d9e4c7fa1b2c3d4e5f60718' },
  },
  'Idempotent-Replayed': {
    description: '`true` where this is the answer of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', example: 'true' },
  },
  Deprecation: {
    description: 'Since when the path is deprecated, in seconds since 1970 (RFC 9745).',
    schema: { type: 'string', example: '@1795219200' },
  },
  Sunset: {
    description: 'When the path may be gone (RFC 8594).',
    schema: { type: 'string', example: 'Sun, 21 Nov 2027 00:00:00 GMT' },
  },
  Link: {
    description:
      'Of a list, a statement, and an order with many executions: where the next page is, `rel="next"`; missing on the last. Of a deprecated path: what replaces it, `rel="successor-version"` (RFC 8288).',
    schema: { type: 'string', example: '</recipients/countries/SG/corridors>; rel="successor-version"' },
  },
} as const;

type HeaderName = keyof typeof ANSWER_HEADERS;

/** What of an operation decides which headers its answers have. */
interface Marks {
  readonly isPublic: boolean;
  readonly isDeprecated: boolean;
  readonly hasETag: boolean;
  readonly isPaged: boolean;
  readonly isCreation: boolean;
  /** Whether another deployment answers. */
  readonly isGateway: boolean;
  /** Whether it may be refused as `outcome_unknown`. */
  readonly isChange: boolean;
}

/** The headers of one answer, as references into the components. */
export function answerHeaders(status: number, operation: Marks) {
  return Object.fromEntries(namesOf(status, operation).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function namesOf(
  status: number,
  { isPublic, isDeprecated, hasETag, isPaged, isCreation, isGateway, isChange }: Marks,
): HeaderName[] {
  const isAnswer = status < 400;
  const isInDoubt = status === 504 || (isGateway && status === 502);
  const names: HeaderName[] = ['X-Request-Id', 'Cache-Control'];
  // The limit is looked at once the credential is known.
  if (!isPublic && status !== 401) names.push('RateLimit-Policy', 'RateLimit');
  if (status === 401) names.push('WWW-Authenticate');
  // Where nothing is made, a conflict is no matter of time.
  if ((status === 409 && isCreation) || status === 429 || status === 503) names.push('Retry-After');
  if (isChange && status === 504) names.push('Retry-After');
  if (isCreation && isInDoubt) names.push('Idempotency-Key');
  if (hasETag && isAnswer) names.push('ETag');
  if (isCreation && isAnswer) names.push('Location', 'Idempotent-Replayed');
  if (isPaged && isAnswer) names.push('Link');
  // These two are said by the route itself, so not by what is refused before it.
  if (isDeprecated && (isAnswer || status === 404)) names.push('Deprecation', 'Sunset', 'Link');
  return names;
}
