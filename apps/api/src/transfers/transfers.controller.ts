import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { BankingService, type Transfer, type TransferId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { TransferDto } from './transfer.dto.js';

/** The company of the demo world. */
const NORTHWIND = { 'Workspace-ID': 1 };

@ApiTags('Transfers')
@Controller('transfers')
export class TransfersController {
  constructor(private readonly banking: BankingService) {}

  @Get(':transferId')
  @Operation('getTransfer', {
    summary: 'Retrieve a transfer',
    description:
      'One movement of money on one account, with the balance it left there, who was paid, and the transaction that executed it: its other transfers, the fee among them, and the tracking events of a payment abroad.\n\nA payment has arrived when its transaction is `completed`. While that is `pending`, ask again. `failed` is final: the money is back as a credit of type `return`, in a transaction of its own.',
    provenance: 'stated',
    refusals: ['id_malformed', 'transfer_not_found'],
    examples: [
      { name: 'payout', summary: 'A payment to Berlin, tracked to its end', values: { transferId: 26, ...NORTHWIND } },
      { name: 'pending', summary: 'One on its way: one event so far', values: { transferId: 30, ...NORTHWIND } },
      {
        name: 'returned',
        summary: 'One that was rejected: the transaction has failed',
        values: { transferId: 34, ...NORTHWIND },
      },
      { name: 'spot', summary: 'Paid in USD to a recipient in INR', values: { transferId: 40, ...NORTHWIND } },
      { name: 'internal', summary: 'Between two accounts of the workspace', values: { transferId: 24, ...NORTHWIND } },
      { name: 'funding', summary: 'The opening credit of an account', values: { transferId: 10, ...NORTHWIND } },
    ],
  })
  @ApiIdParam(
    'transferId',
    'A transfer of the workspace. One of another workspace is not found, like one that does not exist.',
  )
  @ApiOkResponse({ description: 'The transfer.', type: TransferDto })
  get(@CalledBy() caller: Caller, @Param('transferId', IdPipe) transferId: TransferId): Promise<Transfer> {
    return this.banking.getTransfer(caller, { transferId });
  }
}
