import { Body, Controller, Get, Param, Post, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type RequestOptions, type Quote, type QuoteId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../access/operation.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { bodyPipe } from '../input/input.pipe.js';
import * as docs from './quotes.docs.js';
import { CreateQuoteInputDto } from './quote-input.dto.js';
import { QuoteDto } from './quote.dto.js';

@ApiTags('Quotes')
@Controller('quotes')
export class QuotesController {
  constructor(private readonly banking: BankingService) {}

  @Post()
  @Operation('createQuote', docs.createQuote)
  @ApiCreatedResponse({ description: 'The quote.', type: QuoteDto })
  async create(
    @CalledBy() caller: Caller,
    @Body(bodyPipe) input: CreateQuoteInputDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/quotes', await this.banking.createQuote(caller, input, options));
  }

  @Get(':quoteId')
  @Operation('getQuote', docs.getQuote)
  @ApiIdParam(...docs.QUOTE_ID)
  @ApiOkResponse({ description: 'The quote.', type: QuoteDto })
  get(@CalledBy() caller: Caller, @Param('quoteId', IdPipe) quoteId: QuoteId): Promise<Quote> {
    return this.banking.getQuote(caller, { quoteId });
  }
}
