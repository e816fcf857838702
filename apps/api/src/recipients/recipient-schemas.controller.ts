import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { CanonicalLink } from '../http/canonical-link.js';
import { Operation } from '../access/operation.decorator.js';
import { CachedResponses } from '../http/cached-responses.js';
import { queryPipe } from '../input/input.pipe.js';
import { RecipientSchemaQueryDto } from '../corridors/corridor-query.dto.js';
import * as docs from './recipient-schemas.docs.js';
import { RecipientSchemaDto } from './recipient-schema.dto.js';

@ApiTags('Recipients')
@Controller()
export class RecipientSchemasController {
  constructor(
    private readonly banking: BankingService,
    private readonly responses: CachedResponses,
  ) {}

  @Get('recipients/validation-schema')
  @Operation('listRecipientSchemas', docs.listRecipientSchemas)
  @ApiOkResponse({ description: 'One or more schemas.', type: [RecipientSchemaDto] })
  list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: RecipientSchemaQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.responses.send(reply, keyOf(query), () => this.banking.listRecipientSchemas(caller, query));
  }

  /** The other path of the interface for the same operation. */
  @Get('validation-schema')
  @CanonicalLink(docs.CANONICAL)
  @Operation('listRecipientSchemas', docs.listRecipientSchemasFormerly)
  @ApiOkResponse({ description: 'One or more schemas.', type: [RecipientSchemaDto] })
  listFormerly(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: RecipientSchemaQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.list(caller, query, reply);
  }
}

const keyOf = ({ countryCode, currencyCode, payoutMethod, beneficiaryAccountType = '' }: RecipientSchemaQueryDto) =>
  `schemas ${countryCode} ${currencyCode} ${payoutMethod} ${beneficiaryAccountType}`;
