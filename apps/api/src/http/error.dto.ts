import type { ErrorBody, RefusalDetail } from '@banking/domain';
import { Field } from './field.decorator.js';

export class ErrorDetailDto implements RefusalDetail {
  @Field('ours', { description: 'The field, header or parameter at fault.', example: 'transferId' })
  readonly path!: string;

  @Field('ours', { description: 'A stable code for the fault.', example: 'id_malformed' })
  readonly reason!: string;

  @Field('ours', { description: 'What to change.', example: 'Send the id exactly as an earlier answer gave it.' })
  readonly message!: string;
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
