import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { Operation } from '../access/operation.decorator.js';
import { CachedResponses } from '../http/cached-responses.js';
import * as docs from './purposes.docs.js';

@ApiTags('Orders')
@Controller('orders')
export class PurposesController {
  constructor(
    private readonly banking: BankingService,
    private readonly responses: CachedResponses,
  ) {}

  @Get('purposes')
  @Operation('listPurposes', docs.listPurposes)
  @ApiOkResponse({
    description: 'The meaning of each code.',
    schema: {
      type: 'object',
      additionalProperties: { type: 'string', description: 'Meaning of the code.', example: 'Supplier payment' },
    },
  })
  list(@CalledBy() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.responses.send(reply, 'purposes', () => this.banking.listPurposes(caller));
  }
}
