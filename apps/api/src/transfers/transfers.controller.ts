import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type Transfer, type TransferId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { queryPipe } from '../input/input.pipe.js';
import { sendPage } from '../input/page.js';
import { TransferQueryDto } from './transfer-query.dto.js';
import { TransferDto } from './transfer.dto.js';

/** The company of the demo world. */
const NORTHWIND = { 'Workspace-ID': 1 };

@ApiTags('Transfers')
@Controller('transfers')
export class TransfersController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listTransfers', {
    summary: 'List transfers',
    description:
      'The transfers of the workspace, newest first, each with everything a single one has. Filters narrow the list; all that are given must hold.',
    provenance: 'stated',
    refusals: ['parameter_invalid', 'id_malformed', 'timestamp_invalid', 'account_not_found', 'recipient_not_found'], // prettier-ignore
    isPaged: true,
    examples: [
      { name: 'payouts', summary: 'Payouts, one to a page: `Link` leads to the next', values: { 'Workspace-ID': 1, type: 'payout', limit: 1 } }, // prettier-ignore
    ],
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
    description:
      'One movement of money on one account, with the balance it left there, who was paid, and the transaction that executed it: its other transfers, the fee among them, and the tracking events of a payment abroad.\n\nA payment has arrived when its transaction is `completed`. While that is `pending`, ask again. `failed` is final: the money is back as a credit of type `return`, in a transaction of its own.',
    provenance: 'stated',
    statedParameters: ['transferId', 'Workspace-ID'],
    refusals: ['id_malformed', 'transfer_not_found'],
    examples: [
      { name: 'payout', summary: 'A payment to Berlin, tracked to its end', values: { transferId: 26, ...NORTHWIND } },
      { name: 'pending', summary: 'One on its way: one event so far', values: { transferId: 30, ...NORTHWIND } },
      {
        name: 'returned',
        summary: 'One that was rejected: the transaction has failed',
        values: { transferId: 34, ...NORTHWIND },
      },
      { name: 'return', summary: 'The credit that brought its amount back', values: { transferId: 38, ...NORTHWIND } },
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
