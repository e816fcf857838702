import { Body, Controller, Param, Post, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type AccountId, type Intent } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { IntentOf, sendCreated } from '../input/creation.js';
import { bodyPipe } from '../input/input.pipe.js';
import { TransferDto } from '../transfers/transfer.dto.js';
import { FundingWishDto } from './funding-input.dto.js';

/** What elsewhere the world does. Not there where real money moves. */
@ApiTags('Sandbox')
@Controller('sandbox')
export class SandboxController {
  constructor(private readonly banking: BankingService) {}

  @Post('accounts/:accountId/fundings')
  @Operation('fundAccount', {
    summary: 'Fund an account',
    description:
      'Books money as if it had arrived from outside: a transfer of type `funding`, completed at once, without a fee and without a purpose.\n\n**Only in a sandbox:** a deployment in which real money moves answers 404 `route_not_found`, and its document does not have this operation.',
    provenance: 'ours',
    refusals: [
      'id_malformed',
      'amount_malformed',
      'amount_out_of_range',
      'account_not_found',
      'account_disabled',
      'balance_limit_exceeded',
    ],
    body: 'creates',
    examples: [
      {
        name: 'arrived',
        summary: '1000000 JPY for the Tokyo office: yen have no decimals',
        values: { 'Workspace-ID': 1, accountId: 4, 'Idempotency-Key': 'fund-tokyo' },
        body: { amount: '1000000' },
      },
    ],
  })
  @ApiIdParam('accountId', 'An account of the workspace.')
  @ApiCreatedResponse({ description: 'The transfer, completed.', type: TransferDto })
  async fund(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Body(bodyPipe) { amount }: FundingWishDto,
    @IntentOf() intent: Intent,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/transfers', await this.banking.fundAccount(caller, { accountId, amount }, intent));
  }
}
