import { Controller, Get, Module, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  BankingService,
  type Deposit,
  DEPOSIT_STEPS,
  type DepositId,
  type DepositPayer,
  type DepositQuery,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { ApiIdParam, IdPipe, queryPipe } from '../input/input.pipe.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import { AccountDto } from '../accounts/account.dto.js';
import {
  Field,
  OwnAmountField,
  OwnEdgeField,
  OwnIdField,
  OwnTextField,
  OwnTimeField,
} from '../http/field.decorator.js';
import { TransactionDto } from '../transactions/transaction.dto.js';
import { ChoiceParameter, IdParameter, InstantParameter } from '../input/parameter.decorator.js';

class DepositPayerDto implements DepositPayer {
  @OwnTextField('Name of the payer.', 'Meier Maschinen GmbH', false)
  readonly name?: string;

  @OwnTextField(
    'The account of the payer: an IBAN, or the number as the bank writes it.',
    'DE02120300000000202051',
    false,
  )
  readonly account?: string;

  @OwnTextField('The bank of the payer: a BIC, or its name.', 'BYLADEM1001', false)
  readonly bank?: string;
}

class DepositEdgesDto {
  @OwnEdgeField(() => AccountDto, 'The account that the money is for.')
  readonly account!: AccountDto;

  @OwnEdgeField(
    () => TransactionDto,
    'The transaction that credited the account. Missing while nothing is credited.',
    false,
  )
  readonly transaction?: TransactionDto;
}

class DepositDto implements Deposit {
  @OwnIdField('The deposit.', 1)
  readonly id!: Deposit['id'];

  @OwnAmountField("Digits in minor units of the account's currency.", '125000')
  readonly amount!: Deposit['amount'];

  @OwnTextField(
    '`pending`: announced, and not credited yet. `booked`: credited. `unmatched`: credited to a suspense account, because it names no ' +
      'account that takes it. `assigned`: its money went to another account. `returned`: its money went back. New values may be added.',
    'pending',
  )
  readonly status!: Deposit['status'];

  @OwnTextField('What the payer wrote.', 'Invoice 4711 NW0000000002', false)
  readonly reference?: string;

  @OwnEdgeField(() => DepositPayerDto, 'What the bank says of the payer.')
  readonly payer!: DepositPayerDto;

  @Field('ours', {
    type: 'string',
    format: 'date',
    description: 'The day from which the bank counts the money.',
    example: '2026-11-27',
    required: false,
  })
  readonly valueDate?: string;

  @OwnTimeField('Time of creation.', true)
  readonly createdAt!: Deposit['createdAt'];

  @OwnTimeField('Time of the last change.', true)
  readonly updatedAt!: Deposit['updatedAt'];

  @OwnEdgeField(() => DepositEdgesDto, 'Related records.')
  readonly edges!: DepositEdgesDto;
}

class DepositQueryDto extends PageQueryDto implements DepositQuery {
  @IdParameter('ours', 'Deposits for this account.')
  readonly accountId?: NonNullable<DepositQuery['accountId']>;

  @ChoiceParameter('ours', Object.keys(DEPOSIT_STEPS), 'Deposits with this status.')
  readonly status?: NonNullable<DepositQuery['status']>;

  @InstantParameter('ours', 'Created at this instant or later.')
  readonly createdFrom?: string;

  @InstantParameter('ours', 'Created before this instant.')
  readonly createdTo?: string;
}

@ApiTags('Deposits')
@Controller('deposits')
class DepositsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listDeposits', {
    summary: 'List deposits',
    description: paragraphs(
      'Lists the money that arrived at a bank account of the service for accounts of the workspace, newest first.',
      'A deposit is listed if it matches all filters.',
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'A page of deposits; `Link` leads to the next.', type: [DepositDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: DepositQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listDeposits(caller, query));
  }

  @Get(':depositId')
  @Operation('getDeposit', {
    summary: 'Retrieve a deposit',
    description: paragraphs(
      'Returns money that arrived, with its payer and what the payer wrote.',
      '`edges.transaction` credited the account, and an event tells of each change of the status.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam('depositId', 'A deposit of the workspace.')
  @ApiOkResponse({ description: 'The deposit.', type: DepositDto })
  get(@CalledBy() caller: Caller, @Param('depositId', IdPipe) depositId: DepositId): Promise<Deposit> {
    return this.banking.getDeposit(caller, { depositId });
  }
}

@Module({ controllers: [DepositsController] })
export class DepositsModule {}
