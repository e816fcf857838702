import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { SuccessorHeaders } from '../http/deprecation.js';
import { Operation, type OperationText } from '../http/operation.decorator.js';
import { ReferenceAnswers } from '../http/reference-answers.js';
import { CorridorDto } from './corridor.dto.js';

const CORRIDORS: OperationText = {
  summary: 'List the corridors to a country',
  description:
    'Every way in which money can reach a country: in which currency, by which method, to whom, within which limits and how fast. A country that exists and has none answers `[]`.\n\nLimits are in minor units of `edges.limitCurrency`, which need not be the currency that arrives.',
  provenance: 'stated',
  statedParameters: ['country'],
  refusals: ['country_unknown'],
  hasETag: true,
  examples: [
    {
      name: 'india',
      summary: 'India: by the network of the country in rupees, or by SWIFT',
      values: { country: 'IN' },
    },
    { name: 'singapore', summary: 'Singapore: limits in two currencies', values: { country: 'SG' } },
    { name: 'none', summary: 'Antarctica: a country, but no way to pay there', values: { country: 'AQ' } },
  ],
};
const country = {
  name: 'country',
  description: 'ISO 3166-1 alpha-2 in any case; alpha-3 is understood too.',
  schema: { type: 'string' as const, pattern: '^[A-Za-z]{2,3}$' },
};

@ApiTags('Corridors')
@Controller()
export class CorridorsController {
  constructor(
    private readonly banking: BankingService,
    private readonly reference: ReferenceAnswers,
  ) {}

  @Get('recipients/countries/:country/corridors')
  @Operation('listCorridors', CORRIDORS)
  @ApiParam(country)
  @ApiOkResponse({ description: 'The corridors, whole.', type: [CorridorDto] })
  list(
    @CalledBy() caller: Caller,
    @Param('country') destination: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.reference.send(reply, `corridors ${destination}`, () =>
      this.banking.listCorridors(caller, { country: destination }),
    );
  }

  /** The path of the former revision of the interface. */
  @Get('countries/:country/corridors')
  @SuccessorHeaders('/recipients/countries/{country}/corridors')
  @Operation('listCorridors', { ...CORRIDORS, successor: '/recipients/countries/{country}/corridors' })
  @ApiParam(country)
  @ApiOkResponse({ description: 'The corridors, whole.', type: [CorridorDto] })
  listFormerly(
    @CalledBy() caller: Caller,
    @Param('country') destination: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.reference.send(reply, `corridors ${destination}`, () =>
      this.banking.listCorridors(caller, { country: destination }),
    );
  }
}
