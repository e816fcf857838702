import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type Transfer, type TransferId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../access/operation.decorator.js';
import { queryPipe } from '../input/input.pipe.js';
import { sendPage } from '../input/page.js';
import * as docs from './transfers.docs.js';
import { TransferQueryDto } from './transfer-query.dto.js';
import { TransferDto } from './transfer.dto.js';

@ApiTags('Transfers')
@Controller('transfers')
export class TransfersController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listTransfers', docs.listTransfers)
  @ApiOkResponse({ description: 'A page of transfers; `Link` leads to the next.', type: [TransferDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: TransferQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listTransfers(caller, query));
  }

  @Get(':transferId')
  @Operation('getTransfer', docs.getTransfer)
  @ApiIdParam(...docs.TRANSFER_ID)
  @ApiOkResponse({ description: 'The transfer.', type: TransferDto })
  get(@CalledBy() caller: Caller, @Param('transferId', IdPipe) transferId: TransferId): Promise<Transfer> {
    return this.banking.getTransfer(caller, { transferId });
  }
}
