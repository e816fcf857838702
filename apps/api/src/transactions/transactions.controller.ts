import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { BankingService, type Transaction, type TransactionId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../access/operation.decorator.js';
import * as docs from './transactions.docs.js';
import { TransactionDto } from './transaction.dto.js';

@ApiTags('Transactions')
@Controller('transactions')
export class TransactionsController {
  constructor(private readonly banking: BankingService) {}

  @Get(':transactionId')
  @Operation('getTransaction', docs.getTransaction)
  @ApiIdParam(...docs.TRANSACTION_ID)
  @ApiOkResponse({ description: 'The transaction.', type: TransactionDto })
  get(@CalledBy() caller: Caller, @Param('transactionId', IdPipe) transactionId: TransactionId): Promise<Transaction> {
    return this.banking.getTransaction(caller, { transactionId });
  }
}
