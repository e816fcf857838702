import { Body, Controller, Delete, Get, HttpCode, Module, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type Recipient, type RecipientId, type RequestOptions } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, type OperationText, paragraphs } from '../access/operation.decorator.js';
import { CorridorQueryDto, RecipientSchemaQueryDto } from '../corridors/corridor.dto.js';
import { CanonicalLink } from '../corridors/corridors.controller.js';
import { CachedResponses, CachedResponsesModule } from '../http/cached-responses.js';
import { ApiIdParam, bodyPipe, IdPipe, queryPipe } from '../input/input.pipe.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { sendPage } from '../input/page.js';
import {
  InternalRecipientDto,
  InternationalRecipientDto,
  RecipientChangeDto,
  RecipientDto,
  RecipientQueryDto,
  RecipientSchemaDto,
} from './recipient.dto.js';

const RECIPIENT_ID = ['recipientId', 'A recipient of the workspace.'] as const;

/** The path that links name, where the interface has two. */
const CANONICAL = '/recipients/validation-schema';

const listRecipientSchemas: OperationText = {
  summary: 'List the recipient schemas of a corridor',
  description: paragraphs(
    'Returns the JSON Schemas (2020-12) for `data` of an international recipient: one for each accepted set of fields, persons before companies.',
    'The schemas compile in Ajv with `strict: true` without a plug-in.',
    '',
    '`POST /recipients/international` checks `data` against these schemas, and checks check digits, which a schema cannot express.',
    'Show `title`, `description` and `examples` of a field to the user who fills it in.',
    'A corridor that is disabled has schemas too.',
  ),
  provenance: 'stated',
  hasQuery: true,
  hasETag: true,
};

@ApiTags('Recipients')
@Controller()
class RecipientSchemasController {
  constructor(
    private readonly banking: BankingService,
    private readonly responses: CachedResponses,
  ) {}

  @Get('recipients/validation-schema')
  @Operation('listRecipientSchemas', listRecipientSchemas)
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
  @CanonicalLink(CANONICAL)
  @Operation('listRecipientSchemas', { ...listRecipientSchemas, canonical: CANONICAL })
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

@ApiTags('Recipients')
@Controller('recipients')
class RecipientsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listRecipients', {
    summary: 'List recipients',
    description: 'Lists the recipients of the workspace, newest first, without deleted ones.',
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'A page of recipients.', type: [RecipientDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: RecipientQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listRecipients(caller, query));
  }

  @Post('international')
  @Operation('addInternationalRecipient', {
    summary: 'Add a recipient abroad',
    description: paragraphs(
      'Stores a recipient that is paid over a corridor.',
      'The service checks `data` against the schemas that `GET /recipients/validation-schema` returns for the same query, and checks check digits.',
      '`details` of a refusal names each invalid field, with its rule and an example. The service stores `data` unchanged.',
      '',
      'The recipient shows `beneficiaryName` as its name and `beneficiaryAccountNumber` as its account code.',
      'It shows the bank if the service knows its routing code.',
    ),
    provenance: 'ours',
    hasQuery: true,
  })
  @ApiCreatedResponse({ description: 'The new recipient.', type: RecipientDto })
  async addInternational(
    @CalledBy() caller: Caller,
    @Query(queryPipe) corridor: CorridorQueryDto,
    @Body(bodyPipe) input: InternationalRecipientDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const created = await this.banking.addInternationalRecipient(caller, { ...corridor, ...input }, options);
    return sendCreated(reply, '/recipients', created);
  }

  @Post('internal')
  @Operation('addInternalRecipient', {
    summary: 'Add an account of this service as a recipient',
    description: paragraphs(
      'Stores an account of this or another workspace as a recipient, by its `code`.',
      'For an account of another workspace, the response confirms only that the code exists.',
      'The recipient shows the name you give, else the alias, else the code.',
    ),
    provenance: 'ours',
  })
  @ApiCreatedResponse({ description: 'The new recipient.', type: RecipientDto })
  async addInternal(
    @CalledBy() caller: Caller,
    @Body(bodyPipe) input: InternalRecipientDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/recipients', await this.banking.addInternalRecipient(caller, input, options));
  }

  @Get(':recipientId')
  @Operation('getRecipient', {
    summary: 'Retrieve a recipient',
    description: 'Returns one recipient with bank and beneficiary. A deleted recipient is not found.',
    provenance: 'ours',
  })
  @ApiIdParam(...RECIPIENT_ID)
  @ApiOkResponse({ description: 'The recipient.', type: RecipientDto })
  get(@CalledBy() caller: Caller, @Param('recipientId', IdPipe) recipientId: RecipientId): Promise<Recipient> {
    return this.banking.getRecipient(caller, { recipientId });
  }

  @Post(':recipientId/verification')
  @Operation('verifyRecipient', {
    summary: 'Verify the payee of a recipient',
    description: paragraphs(
      "Asks the payee's bank whether the account belongs to the name of the recipient, before you pay. The result is stored in `verification` of the recipient.",
      '',
      '- `match`: the account belongs to this name.',
      '- `close_match`: the name is similar. `verification.name` is the name of the holder: show it to the payer, who decides.',
      '- `no_match`: the account belongs to another name. Ask the payee before you pay.',
      '- `not_possible`: there is no answer within 5 seconds, the bank does not take part, or the account is one of this service.',
      '',
      'The result does not change what an order may pay. A workspace can verify 100 recipients an hour; one that is verified again counts once.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...RECIPIENT_ID)
  @ApiCreatedResponse({ description: 'The recipient with the result.', type: RecipientDto })
  async verify(
    @CalledBy() caller: Caller,
    @Param('recipientId', IdPipe) recipientId: RecipientId,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/recipients', await this.banking.verifyRecipient(caller, { recipientId }, options));
  }

  @Patch(':recipientId')
  @Operation('changeRecipient', {
    summary: 'Rename a recipient, or change whether it is saved',
    description: paragraphs(
      'Changes the alias of a recipient or its `saved` flag. Omitted fields stay unchanged.',
      'The payee and the account cannot change: add another recipient instead.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...RECIPIENT_ID)
  @ApiOkResponse({ description: 'The changed recipient.', type: RecipientDto })
  change(
    @CalledBy() caller: Caller,
    @Param('recipientId', IdPipe) recipientId: RecipientId,
    @Body(bodyPipe) change: RecipientChangeDto,
  ): Promise<Recipient> {
    return this.banking.changeRecipient(caller, { ...change, recipientId });
  }

  @Delete(':recipientId')
  @HttpCode(204)
  @Operation('deleteRecipient', {
    summary: 'Delete a recipient',
    description: paragraphs(
      'Removes a recipient from the list permanently. Past transfers keep it. Runs of scheduled orders to it fail with `recipient_invalid`: ' +
        'cancel those orders.',
      'A second deletion fails with 404, so after a lost response a 404 means that the recipient is deleted.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...RECIPIENT_ID)
  @ApiNoContentResponse({ description: 'The recipient is deleted. The response has no body.' })
  delete(@CalledBy() caller: Caller, @Param('recipientId', IdPipe) recipientId: RecipientId): Promise<void> {
    return this.banking.deleteRecipient(caller, { recipientId });
  }
}

@Module({ imports: [CachedResponsesModule], controllers: [RecipientSchemasController, RecipientsController] })
export class RecipientsModule {}
