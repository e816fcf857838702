import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { BankingService, type Transfer, type TransferId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { TransferDto } from './transfer.dto.js';

@ApiTags('Transfers')
@Controller('transfers')
export class TransfersController {
  constructor(private readonly banking: BankingService) {}

  @Get(':transferId')
  @Operation('getTransfer', {
    summary: 'Retrieve a transfer',
    description:
      'One transfer with its account, the balance it left, its recipient, and its transaction with the tracking events of a payment abroad.',
    provenance: 'stated',
    refusals: ['id_malformed', 'transfer_not_found'],
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
