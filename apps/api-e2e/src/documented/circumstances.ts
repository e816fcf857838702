/** Refusals whose cause is not in the call. */
export const CIRCUMSTANCES = [
  'rate_limited',
  'unavailable',
  'outcome_unknown',
  'internal_error',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'account_disabled',
  'corridor_disabled',
  // Of a live deployment without a payment network: see mode.spec.ts.
  'payouts_unavailable',
  // Of a live deployment without a key: see webhook-endpoints.spec.ts.
  'webhooks_unavailable',
  'cursor_expired',
];

/**
 * Rows that no operation documents, because they come before routing or from a library without HTTP. Each has the spec that
 * provokes it, and words of that spec.
 */
export const ELSEWHERE: Readonly<Record<string, readonly [spec: string, word: string]>> = {
  route_not_found: ['apps/api-e2e/src/hostile/path-requests.ts', "reason: 'route_not_found'"],
  method_not_allowed: ['apps/api-e2e/src/hostile/requests.ts', "reason: 'method_not_allowed'"],
  uri_too_long: ['apps/api-e2e/src/hostile/path-requests.ts', "reason: 'uri_too_long'"],
  headers_too_large: ['apps/api-e2e/src/hostile/requests.ts', "reason: 'headers_too_large'"],
  precondition_failed: ['apps/api-e2e/src/hostile/public-routes.spec.ts', "'precondition_failed'"],
  // Node responds without a body.
  request_timeout: ['apps/api-e2e/src/hostile/framing.spec.ts', '408'],
  // Of a gateway only.
  upstream_error: ['apps/api/src/gateway/upstream-failure.spec.ts', "reason: 'upstream_error'"],
  upstream_timeout: ['apps/api/src/gateway/invalid-responses.spec.ts', "reason: 'upstream_timeout'"],
  amount_too_precise: ['libs/domain/src/display.spec.ts', "'amount_too_precise'"],
};
