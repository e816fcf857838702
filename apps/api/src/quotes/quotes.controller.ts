import { Body, Controller, Get, Param, Post, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type Intent, type Quote, type QuoteId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { IntentOf, sendCreated } from '../input/creation.js';
import { bodyPipe } from '../input/input.pipe.js';
import { QuoteWishDto } from './quote-input.dto.js';
import { QuoteDto } from './quote.dto.js';

@ApiTags('Quotes')
@Controller('quotes')
export class QuotesController {
  constructor(private readonly banking: BankingService) {}

  @Post()
  @Operation('createQuote', {
    summary: 'Quote a payment',
    description:
      'What a payment costs and what arrives. The price binds until `expiresAt`, by default for five minutes, and is good for one order. It promises a price, not that the account holds the money.\n\n**What is debited** is `amount` and `feeAmount`. **What arrives** is `targetAmount`. The request fixes one of the two amounts:\n\n- With `amount`, `targetAmount` is `amount` times `rate`, with the decimals of both currencies, rounded down. A payment of which less than one minor unit would arrive is refused with `amount_below_minimum`.\n- With `targetAmount`, exactly that arrives. `amount` is the smallest amount that covers it: `targetAmount` divided by `rate`, rounded up. An order at the quote repeats the `amount` of the quote.\n\nThe rate is shown as it is used, rounded down to fifteen significant digits at most, so the sum can be done again to the last digit. The fee is rounded up.\n\nWith a recipient, the payment is checked as an order will be: the account is enabled, the corridor is open, the amount lies within its limits, which are compared exactly and included, and a SWIFT payout is as large as the banks on the way ask for. The fee is that of the corridor, `"0"` where it has none and to an account of this service. With `targetCurrency` alone, only the rate is answered, and no fee.\n\nA deployment without a source of rates quotes payments within a currency only. Where money is made up, so are the rates.',
    provenance: 'ours',
    refusals: [
      'amount_malformed',
      'amount_out_of_range',
      'currency_unknown',
      'account_not_found',
      'account_disabled',
      'recipient_invalid',
      'corridor_disabled',
      'amount_below_minimum',
      'amount_above_maximum',
      'rate_unavailable',
    ],
    body: 'creates',
    examples: [
      {
        name: 'india',
        summary: '2500.00 USD to a person in India, in rupees',
        values: { 'Workspace-ID': 1, 'Idempotency-Key': 'quote-ravi' },
        body: { accountID: 1, recipientID: 2, amount: '250000' },
      },
      {
        name: 'yen',
        summary: '100.00 EUR in yen, which have no decimals, to nobody yet',
        values: { 'Workspace-ID': 1, 'Idempotency-Key': 'quote-yen' },
        body: { accountID: 2, targetCurrency: 'JPY', amount: '10000' },
      },
      {
        name: 'invoice',
        summary: 'An invoice of 200000.00 INR: what it costs in USD',
        values: { 'Workspace-ID': 1, 'Idempotency-Key': 'quote-invoice' },
        body: { accountID: 1, recipientID: 2, targetAmount: '20000000' },
      },
    ],
  })
  @ApiCreatedResponse({ description: 'The quote.', type: QuoteDto })
  async create(
    @CalledBy() caller: Caller,
    @Body(bodyPipe) wish: QuoteWishDto,
    @IntentOf() intent: Intent,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/quotes', await this.banking.createQuote(caller, wish, intent));
  }

  @Get(':quoteId')
  @Operation('getQuote', {
    summary: 'Retrieve a quote',
    description: 'One quote as it was given, also when it has expired or was used.',
    provenance: 'ours',
    refusals: ['id_malformed', 'quote_unknown'],
    examples: [{ name: 'india', summary: 'A payment to India', values: { 'Workspace-ID': 1, quoteId: 1 } }],
  })
  @ApiIdParam('quoteId', 'A quote of the workspace.')
  @ApiOkResponse({ description: 'The quote.', type: QuoteDto })
  get(@CalledBy() caller: Caller, @Param('quoteId', IdPipe) quoteId: QuoteId): Promise<Quote> {
    return this.banking.getQuote(caller, { quoteId });
  }
}
