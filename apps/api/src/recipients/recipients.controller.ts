import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type Intent, type Recipient, type RecipientId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { IntentOf, sendCreated } from '../input/creation.js';
import { bodyPipe, queryPipe } from '../input/input.pipe.js';
import { sendPage } from '../input/page.js';
import { CorridorQueryDto } from './corridor-query.dto.js';
import { InternalRecipientDto, InternationalRecipientDto, RecipientChangeDto, RecipientQueryDto } from './recipient-input.dto.js'; // prettier-ignore
import { RecipientDto } from './recipient.dto.js';

const RECIPIENT_ID = ['recipientId', 'A recipient of the workspace.'] as const;

@ApiTags('Recipients')
@Controller('recipients')
export class RecipientsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listRecipients', {
    summary: 'List recipients',
    description: 'Whom the workspace pays, newest first, without those it has forgotten.',
    provenance: 'ours',
    refusals: ['parameter_invalid'],
    isPaged: true,
    examples: [{ name: 'saved', summary: 'The newest to be offered', values: { 'Workspace-ID': 1, limit: 2, saved: true } }], // prettier-ignore
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
    description:
      'Keeps whom to pay over a corridor. `data` is checked by the very documents that `GET /recipients/validation-schema` answers to the same query, then by check digits; `details` of a refusal point at each field, with its rule and an example. Nothing is made to fit: what is stored is what was sent.\n\nThe name shown is `beneficiaryName`, the account code `beneficiaryAccountNumber`. The bank is named where its routing code is known.',
    provenance: 'ours',
    refusals: ['parameter_unknown', 'parameter_invalid', 'corridor_not_found', 'recipient_invalid'],
    body: 'creates',
    examples: [
      {
        name: 'india',
        summary: 'A person in India, by the network of the country',
        values: {
          'Workspace-ID': 1,
          'Idempotency-Key': 'recipient-asha',
          countryCode: 'IN',
          currencyCode: 'INR',
          payoutMethod: 'LOCAL',
        },
        body: {
          data: {
            beneficiaryName: 'Asha Rao',
            destinationCountry: 'IN',
            beneficiaryAccountType: 'Individual',
            beneficiaryCountryCode: 'IN',
            beneficiaryAccountNumber: '00601234567890',
            routingCodeType1: 'IFSC',
            routingCodeValue1: 'ICIC0000001',
          },
          alias: 'Asha, Pune',
        },
      },
    ],
  })
  @ApiCreatedResponse({ description: 'The recipient, kept.', type: RecipientDto })
  async addInternational(
    @CalledBy() caller: Caller,
    @Query(queryPipe) corridor: CorridorQueryDto,
    @Body(bodyPipe) wish: InternationalRecipientDto,
    @IntentOf() intent: Intent,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const made = await this.banking.addInternationalRecipient(caller, { ...corridor, ...wish }, intent);
    return sendCreated(reply, '/recipients', made);
  }

  @Post('internal')
  @Operation('addInternalRecipient', {
    summary: 'Add an account of this service as a recipient',
    description:
      'Keeps an account as somebody to pay, by its `code`, in this workspace or another. Of another workspace it tells that the code exists, and nothing else: the name shown is the one you give, else the alias, else the code.',
    provenance: 'ours',
    refusals: ['recipient_invalid'],
    body: 'creates',
    examples: [
      {
        name: 'southwind',
        summary: 'An account of another workspace',
        values: { 'Workspace-ID': 1, 'Idempotency-Key': 'recipient-southwind' },
        body: { accountCode: 'NW0000000008', name: 'Southwind Imports', saved: false },
      },
    ],
  })
  @ApiCreatedResponse({ description: 'The recipient, kept.', type: RecipientDto })
  async addInternal(
    @CalledBy() caller: Caller,
    @Body(bodyPipe) wish: InternalRecipientDto,
    @IntentOf() intent: Intent,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/recipients', await this.banking.addInternalRecipient(caller, wish, intent));
  }

  @Get(':recipientId')
  @Operation('getRecipient', {
    summary: 'Retrieve a recipient',
    description: 'One recipient with bank and beneficiary. One that was forgotten is not there any more.',
    provenance: 'ours',
    refusals: ['id_malformed', 'recipient_not_found'],
    examples: [{ name: 'berlin', summary: 'A company in Germany', values: { 'Workspace-ID': 1, recipientId: 3 } }],
  })
  @ApiIdParam(...RECIPIENT_ID)
  @ApiOkResponse({ description: 'The recipient.', type: RecipientDto })
  get(@CalledBy() caller: Caller, @Param('recipientId', IdPipe) recipientId: RecipientId): Promise<Recipient> {
    return this.banking.getRecipient(caller, { recipientId });
  }

  @Patch(':recipientId')
  @Operation('changeRecipient', {
    summary: 'Rename a recipient, or stop offering it',
    description:
      'Gives a recipient another alias, or says whether it is to be offered again. What is left out stays. Who is paid and where never changes: add another recipient for that.',
    provenance: 'ours',
    refusals: ['id_malformed', 'recipient_not_found'],
    body: 'changes',
    examples: [
      {
        name: 'renamed',
        summary: 'Another alias',
        values: { 'Workspace-ID': 1, recipientId: 3 },
        body: { alias: 'Berlin, rent' },
      },
    ],
  })
  @ApiIdParam(...RECIPIENT_ID)
  @ApiOkResponse({ description: 'The recipient as it is now.', type: RecipientDto })
  change(
    @CalledBy() caller: Caller,
    @Param('recipientId', IdPipe) recipientId: RecipientId,
    @Body(bodyPipe) change: RecipientChangeDto,
  ): Promise<Recipient> {
    return this.banking.changeRecipient(caller, { ...change, recipientId });
  }

  @Delete(':recipientId')
  @HttpCode(204)
  @Operation('forgetRecipient', {
    summary: 'Forget a recipient',
    description:
      'Takes a recipient off the list, for good. Past transfers keep theirs. Forgetting it again is 404, so after a lost answer a 404 means it is done.',
    provenance: 'ours',
    refusals: ['id_malformed', 'recipient_not_found'],
    examples: [{ name: 'forgotten', summary: 'One that was added', values: { 'Workspace-ID': 1, recipientId: 4 } }],
  })
  @ApiIdParam(...RECIPIENT_ID)
  @ApiNoContentResponse({ description: 'Forgotten. There is no body.' })
  forget(@CalledBy() caller: Caller, @Param('recipientId', IdPipe) recipientId: RecipientId): Promise<void> {
    return this.banking.forgetRecipient(caller, { recipientId });
  }
}
