import { Controller, Get, Module, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { BankingService, type Transaction, type TransactionId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { ApiIdParam, IdPipe } from '../input/input.pipe.js';
import { TransactionDto } from './transaction.dto.js';

const TRANSACTION_ID = [
  'transactionId',
  'A transaction of the workspace. The response is the same for a transaction of another workspace and one that does not exist.',
] as const;

@ApiTags('Transactions')
@Controller('transactions')
class TransactionsController {
  constructor(private readonly banking: BankingService) {}

  @Get(':transactionId')
  @Operation('getTransaction', {
    summary: 'Retrieve a transaction',
    description: paragraphs(
      'Returns one transaction with its transfers on accounts of the workspace, including the fee, and the tracking events of a payment abroad.',
      'Events, orders and transfers name the transaction by this id, and so do `returnOf` and `returnedBy` of another transaction.',
      '',
      'A payment has arrived when its transaction is `completed`. Read it again while it is `pending`.',
      '`failed` is final: `returnedBy` is the transaction that brought the money back.',
      'A gateway whose upstream does not have this operation responds with 404 `route_not_found`.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...TRANSACTION_ID)
  @ApiOkResponse({ description: 'The transaction.', type: TransactionDto })
  get(@CalledBy() caller: Caller, @Param('transactionId', IdPipe) transactionId: TransactionId): Promise<Transaction> {
    return this.banking.getTransaction(caller, { transactionId });
  }
}

@Module({ controllers: [TransactionsController] })
export class TransactionsModule {}
