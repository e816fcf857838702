import { Controller, Get, Module } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { BankingService, type BankReconciliation } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { BankReconciliationDto } from './reconciliation.dto.js';

@ApiTags('Reconciliations')
@Controller('reconciliations')
class ReconciliationsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listReconciliations', {
    summary: 'List reconciliations',
    description: paragraphs(
      'Returns how each bank account of the service compares with the books: the statements of the last 35 days, and what the bank has and',
      'the books do not, or the other way round. A worker compares about once a minute.',
      '',
      'The workspace of the suspense account of a bank account is the one of its operator. The list of other workspaces is empty.',
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'The bank accounts, by payment network.', type: [BankReconciliationDto] })
  list(@CalledBy() caller: Caller): Promise<readonly BankReconciliation[]> {
    return this.banking.listReconciliations(caller);
  }
}

@Module({ controllers: [ReconciliationsController] })
export class ReconciliationsModule {}
