import type { ErrorBody, RefusalDetail } from '@banking/domain';
import { Field } from './field.decorator.js';

export class ErrorDetailDto implements RefusalDetail {
  @Field('ours', { description: 'The field, header or parameter at fault.', example: 'transferId' })
  readonly path!: string;

  @Field('ours', { description: 'A stable word for what is wrong with it.', example: 'id_malformed' })
  readonly reason!: string;

  @Field('ours', { description: 'What to change.', example: 'Send the id exactly as an earlier answer gave it.' })
  readonly message!: string;
}

export class ErrorDto implements ErrorBody {
  @Field('stated', { description: 'The kind of error.', example: 'invalid_request' })
  readonly errorCode!: string;

  @Field('stated', {
    description: 'What went wrong, for a person.',
    example: 'There is no such transfer in this workspace.',
  })
  readonly message!: string;

  @Field('ours', {
    description: 'A stable word for programs: one row of the refusal table.',
    example: 'transfer_not_found',
  })
  readonly reason!: string;

  @Field('ours', {
    description: 'Name it when you ask for help. The same as the header `X-Request-Id`.',
    example: '0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b',
  })
  readonly requestId!: string;

  @Field('ours', { description: 'The parts of the request at fault.', type: () => [ErrorDetailDto], required: false })
  readonly details?: readonly ErrorDetailDto[];
}
