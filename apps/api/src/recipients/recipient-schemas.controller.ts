import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { SuccessorHeaders } from '../http/deprecation.js';
import { Operation, type OperationText } from '../http/operation.decorator.js';
import { ReferenceAnswers } from '../http/reference-answers.js';
import { queryPipe } from '../input/input.pipe.js';
import { RecipientSchemaQueryDto } from './corridor-query.dto.js';
import { RecipientSchemaDto } from './recipient-schema.dto.js';

const SCHEMAS: OperationText = {
  summary: 'Ask what a corridor needs to know about a recipient',
  description:
    'What `data` of an international recipient has to hold: one JSON Schema (2020-12) for each way to write it down, persons before companies. They compile in Ajv with `strict: true` and need no plug-in.\n\n`POST /recipients/international` checks by these very documents, and by the check digits that no schema can say. Show `title`, `description` and `examples` of a field to whoever fills it in. A corridor that is closed at the moment still says what it needs.',
  provenance: 'stated',
  refusals: ['parameter_unknown', 'parameter_invalid', 'corridor_not_found'],
  hasETag: true,
  examples: [
    {
      name: 'india',
      summary: 'Rupees to a person in India, by IFSC',
      values: { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL', beneficiaryAccountType: 'Individual' },
    },
    {
      name: 'germany',
      summary: 'Euros to a company in Germany, by IBAN and BIC',
      values: { countryCode: 'DE', currencyCode: 'EUR', payoutMethod: 'LOCAL', beneficiaryAccountType: 'Corporate' },
    },
  ],
};

@ApiTags('Recipients')
@Controller()
export class RecipientSchemasController {
  constructor(
    private readonly banking: BankingService,
    private readonly reference: ReferenceAnswers,
  ) {}

  @Get('recipients/validation-schema')
  @Operation('listRecipientSchemas', SCHEMAS)
  @ApiOkResponse({ description: 'The schemas; at least one.', type: [RecipientSchemaDto] })
  list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: RecipientSchemaQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.reference.send(reply, keyOf(query), () => this.banking.listRecipientSchemas(caller, query));
  }

  /** The path of the former revision of the interface. */
  @Get('validation-schema')
  @SuccessorHeaders('/recipients/validation-schema')
  @Operation('listRecipientSchemas', { ...SCHEMAS, successor: '/recipients/validation-schema' })
  @ApiOkResponse({ description: 'The schemas; at least one.', type: [RecipientSchemaDto] })
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
