import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { CanonicalLink } from '../http/canonical-link.js';
import { Operation } from '../access/operation.decorator.js';
import { CachedResponses } from '../http/cached-responses.js';
import * as docs from './corridors.docs.js';
import { CorridorDto } from './corridor.dto.js';

@ApiTags('Corridors')
@Controller()
export class CorridorsController {
  constructor(
    private readonly banking: BankingService,
    private readonly responses: CachedResponses,
  ) {}

  @Get('recipients/countries/:country/corridors')
  @Operation('listCorridors', docs.listCorridors)
  @ApiParam(docs.COUNTRY)
  @ApiOkResponse({ description: 'All corridors to the country.', type: [CorridorDto] })
  list(@CalledBy() caller: Caller, @Param('country') country: string, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.responses.send(reply, `corridors ${country}`, () => this.banking.listCorridors(caller, { country }));
  }

  /** The other path of the interface for the same operation. */
  @Get('countries/:country/corridors')
  @CanonicalLink(docs.CANONICAL)
  @Operation('listCorridors', docs.listCorridorsFormerly)
  @ApiParam(docs.COUNTRY)
  @ApiOkResponse({ description: 'All corridors to the country.', type: [CorridorDto] })
  listFormerly(
    @CalledBy() caller: Caller,
    @Param('country') country: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.list(caller, country, reply);
  }
}
