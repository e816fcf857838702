import { Controller, Get, Module, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type Deposit, type DepositId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { ApiIdParam, IdPipe, queryPipe } from '../input/input.pipe.js';
import { sendPage } from '../input/page.js';
import { DepositDto, DepositQueryDto } from './deposit.dto.js';

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
