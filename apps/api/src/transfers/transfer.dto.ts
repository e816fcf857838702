import type { Transfer } from '@banking/domain';
import { EdgeField } from '../http/field.decorator.js';
import { TransactionDto, TransferFieldsDto, TransferFieldsEdgesDto } from '../transactions/transaction.dto.js';

class TransferEdgesDto extends TransferFieldsEdgesDto {
  @EdgeField(() => TransactionDto, 'The transaction that executed it.', false)
  readonly transaction?: TransactionDto;
}

export class TransferDto extends TransferFieldsDto implements Transfer {
  @EdgeField(() => TransferEdgesDto, 'Related records.')
  readonly edges!: TransferEdgesDto;
}
