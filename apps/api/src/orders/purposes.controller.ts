import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { Operation } from '../http/operation.decorator.js';
import { ReferenceAnswers } from '../http/reference-answers.js';

@ApiTags('Orders')
@Controller('orders')
export class PurposesController {
  constructor(
    private readonly banking: BankingService,
    private readonly reference: ReferenceAnswers,
  ) {}

  @Get('purposes')
  @Operation('listPurposes', {
    summary: 'List the purpose codes',
    description:
      'Why money may be sent: the codes that an order to another country can carry as its `purposeCode`, each with its meaning. The codes are those of the network that carries the money, so more may come.',
    provenance: 'known',
    refusals: [],
    hasETag: true,
    examples: [{ name: 'purposes', summary: 'All purpose codes' }],
  })
  @ApiOkResponse({
    description: 'The codes with their texts.',
    schema: {
      type: 'object',
      additionalProperties: { type: 'string', description: 'What the code means.', example: 'Family maintenance' },
    },
  })
  list(@CalledBy() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.reference.send(reply, 'purposes', () => this.banking.listPurposes(caller));
  }
}
