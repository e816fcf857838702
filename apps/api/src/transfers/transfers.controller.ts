import { Controller, Get, Module, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  BankingService,
  type PaymentAdvice,
  TRANSACTION_STEPS,
  type Transfer,
  type TransferId,
  type TransferQuery,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { ApiIdParam, IdPipe, queryPipe } from '../input/input.pipe.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import { ChoiceParameter, IdParameter, InstantParameter, TextParameter } from '../input/parameter.decorator.js';
import { PaymentAdviceDto, TransferDto } from './transfer.dto.js';

class TransferQueryDto extends PageQueryDto implements TransferQuery {
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

const TRANSFER_ID = [
  'transferId',
  'A transfer of the workspace. The response is the same for a transfer of another workspace and one that does not exist.',
] as const;

@ApiTags('Transfers')
@Controller('transfers')
class TransfersController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listTransfers', {
    summary: 'List transfers',
    description: paragraphs(
      'Lists the transfers of the workspace, newest first, each with all its fields.',
      'A transfer is listed if it matches all filters.',
    ),
    provenance: 'stated',
  })
  @ApiOkResponse({ description: 'A page of transfers; `Link` leads to the next.', type: [TransferDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: TransferQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listTransfers(caller, query));
  }

  @Get(':transferId')
  @Operation('getTransfer', {
    summary: 'Retrieve a transfer',
    description: paragraphs(
      'Returns one movement of money on one account, with the balance after it, the recipient, and the transaction that executed it.',
      'The transaction shows its other transfers, including the fee, and the tracking events of a payment abroad.',
      '',
      'A payment has arrived when its transaction is `completed`. Read the transfer again while the transaction is `pending`.',
      '`failed` is final: the amount returned as a credit of type `return`, in a transaction of its own.',
    ),
    provenance: 'stated',
    statedParameters: ['transferId', 'Workspace-ID'],
  })
  @ApiIdParam(...TRANSFER_ID)
  @ApiOkResponse({ description: 'The transfer.', type: TransferDto })
  get(@CalledBy() caller: Caller, @Param('transferId', IdPipe) transferId: TransferId): Promise<Transfer> {
    return this.banking.getTransfer(caller, { transferId });
  }

  @Get(':transferId/advice')
  @Operation('getPaymentAdvice', {
    summary: 'Retrieve the advice of a payment',
    description: paragraphs(
      'Returns what finance needs of a payment: what left the account, the fee, what arrives at which rate, the recipient, and when.',
      '`uetr` is the reference by which banks trace a payment that left this service.',
      '',
      'Only the transfer that left the account for a recipient has an advice: neither its fee nor a credit.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...TRANSFER_ID)
  @ApiOkResponse({ description: 'The advice.', type: PaymentAdviceDto })
  advice(@CalledBy() caller: Caller, @Param('transferId', IdPipe) transferId: TransferId): Promise<PaymentAdvice> {
    return this.banking.getPaymentAdvice(caller, { transferId });
  }
}

@Module({ controllers: [TransfersController] })
export class TransfersModule {}
