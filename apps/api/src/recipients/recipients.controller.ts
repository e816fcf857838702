import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type RequestOptions, type Recipient, type RecipientId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../access/operation.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { bodyPipe, queryPipe } from '../input/input.pipe.js';
import { sendPage } from '../input/page.js';
import { CorridorQueryDto } from '../corridors/corridor-query.dto.js';
import * as docs from './recipients.docs.js';
import {
  InternalRecipientDto,
  InternationalRecipientDto,
  RecipientChangeDto,
  RecipientQueryDto,
} from './recipient-input.dto.js';
import { RecipientDto } from './recipient.dto.js';

@ApiTags('Recipients')
@Controller('recipients')
export class RecipientsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listRecipients', docs.listRecipients)
  @ApiOkResponse({ description: 'A page of recipients.', type: [RecipientDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: RecipientQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listRecipients(caller, query));
  }

  @Post('international')
  @Operation('addInternationalRecipient', docs.addInternationalRecipient)
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
  @Operation('addInternalRecipient', docs.addInternalRecipient)
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
  @Operation('getRecipient', docs.getRecipient)
  @ApiIdParam(...docs.RECIPIENT_ID)
  @ApiOkResponse({ description: 'The recipient.', type: RecipientDto })
  get(@CalledBy() caller: Caller, @Param('recipientId', IdPipe) recipientId: RecipientId): Promise<Recipient> {
    return this.banking.getRecipient(caller, { recipientId });
  }

  @Patch(':recipientId')
  @Operation('changeRecipient', docs.changeRecipient)
  @ApiIdParam(...docs.RECIPIENT_ID)
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
  @Operation('deleteRecipient', docs.deleteRecipient)
  @ApiIdParam(...docs.RECIPIENT_ID)
  @ApiNoContentResponse({ description: 'The recipient is deleted. The response has no body.' })
  delete(@CalledBy() caller: Caller, @Param('recipientId', IdPipe) recipientId: RecipientId): Promise<void> {
    return this.banking.deleteRecipient(caller, { recipientId });
  }
}
