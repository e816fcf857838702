import { TRANSACTION_STEPS, type TransferQuery } from '@banking/domain';
import { PageQueryDto } from '../input/page.js';
import { ChoiceParameter, IdParameter, InstantParameter, TextParameter } from '../input/parameter.decorator.js';

/** The filters of the list of transfers. A transfer is listed if it matches all of them. */
export class TransferQueryDto extends PageQueryDto implements TransferQuery {
  @IdParameter('ours', 'Transfers of this account.')
  readonly accountId?: NonNullable<TransferQuery['accountId']>;

  @ChoiceParameter('ours', ['debit', 'credit'], '`debit`: money left the account. `credit`: it arrived.')
  readonly direction?: NonNullable<TransferQuery['direction']>;

  @TextParameter('ours', 64, 'Transfers of this type, such as `payout` or `return`.')
  readonly type?: string;

  @IdParameter('ours', 'Transfers to this recipient.')
  readonly recipientId?: NonNullable<TransferQuery['recipientId']>;

  @ChoiceParameter('ours', Object.keys(TRANSACTION_STEPS), 'Transfers whose transaction has this status.')
  readonly transactionStatus?: NonNullable<TransferQuery['transactionStatus']>;

  @InstantParameter('ours', 'Booked at this instant or later.')
  readonly createdFrom?: string;

  @InstantParameter('ours', 'Booked before this instant.')
  readonly createdTo?: string;
}
