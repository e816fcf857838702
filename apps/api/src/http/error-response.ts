import type { ErrorBody, RefusalDetail } from '@banking/domain';
import { Field } from './field.decorator.js';

export class ErrorDetailDto implements RefusalDetail {
  @Field('ours', { description: 'The field, header or parameter at fault.', example: 'transferId' })
  readonly path!: string;

  @Field('ours', { description: 'A stable code for the fault.', example: 'id_malformed' })
  readonly reason!: string;

  @Field('ours', { description: 'What to change.', example: 'Send the id exactly as an earlier answer gave it.' })
  readonly message!: string;

  @Field('ours', {
    allOf: [{ $ref: '#/components/schemas/LimitDto' }],
    description: 'Of `limit_exceeded`: the limit as `GET /limits` returns it, with `used` and `resetsAt`.',
    example: {
      ...{ scope: 'workspace', metric: 'amount', per: 'day', value: '1000000', currency: 'EUR' },
      ...{ used: '900000', resetsAt: '2026-11-22T00:00:00.000000Z' },
    },
    selfRequired: false,
  })
  readonly limit?: NonNullable<RefusalDetail['limit']>;
}

export class ErrorDto implements ErrorBody {
  @Field('stated', { description: 'The kind of error.', example: 'invalid_request' })
  readonly errorCode!: string;

  @Field('stated', {
    description: 'What is wrong, for people.',
    example: 'There is no such transfer in this workspace.',
  })
  readonly message!: string;

  @Field('ours', {
    description: 'A stable code for programs: one row of the table of refusals.',
    example: 'transfer_not_found',
  })
  readonly reason!: string;

  @Field('ours', {
    description: 'The request id, equal to the header `X-Request-Id`. Name it in support requests.',
    example: '0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b',
  })
  readonly requestId!: string;

  @Field('ours', { description: 'The parts of the request at fault.', type: () => [ErrorDetailDto], required: false })
  readonly details?: readonly ErrorDetailDto[];
}

/** An error as a client gets it. A `Refusal` is one. An upstream may also use reasons that our table does not have. */
export interface ErrorResponse {
  readonly status: number;
  readonly errorCode: string;
  readonly message: string;
  readonly reason: string;
  readonly details?: readonly RefusalDetail[];
  readonly retryAfterSeconds?: number;
}

/** For responses that are written where no hook runs. */
export const BARE_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};

/** The body of an error: the two published fields first, then ours. */
export function bodyOf({ errorCode, message, reason, details }: ErrorResponse, requestId: string): ErrorBody {
  return { errorCode, message, reason, requestId, ...(details && { details }) };
}

/** An error that is no `Refusal`, translated for the client and for the log. */
export interface TranslatedError {
  readonly response: ErrorResponse;
  /** For the log, without personal data. Missing if there is nothing to log. */
  readonly why?: string;
  /** Whether an operator has to act: the line is then logged as an error. */
  readonly needsOperator?: boolean;
  /** Repeating the request with this key is safe: whether it was carried out is unknown. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * Translates the errors of the implementation behind the port.
 *
 * @returns undefined for an error of this service
 */
export type TranslateError = (thrown: unknown, operation: string | undefined) => TranslatedError | undefined;

/** The injection token of a {@link TranslateError}. Our own books need none: they throw refusals. */
export const TRANSLATE_ERROR = Symbol('TranslateError');
