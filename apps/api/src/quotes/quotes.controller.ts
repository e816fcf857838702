import { Body, Controller, Get, Module, Param, Post, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type CreateQuoteInput, type Quote, type QuoteId, type RequestOptions } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { AccountDto } from '../accounts/account.dto.js';
import { Field, OwnAmountField, OwnEdgeField, OwnIdField, OwnTimeField } from '../http/field.decorator.js';
import { ApiIdParam, bodyPipe, IdPipe } from '../input/input.pipe.js';
import {
  OptionalCurrencyBodyField,
  IdBodyField,
  OptionalAmountBodyField,
  OptionalIdBodyField,
} from '../input/body-field.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { CurrencyDto } from '../products/product.dto.js';
import { RecipientDto } from '../recipients/recipient.dto.js';

class QuoteEdgesDto {
  @OwnEdgeField(() => AccountDto, 'The account that pays.')
  readonly account!: AccountDto;

  @OwnEdgeField(() => RecipientDto, 'The recipient, if the request names one.', false)
  readonly recipient?: RecipientDto;

  @OwnEdgeField(() => CurrencyDto, 'The currency of `targetAmount`.')
  readonly targetCurrency!: CurrencyDto;
}

class QuoteDto implements Quote {
  @OwnIdField('The quote.', 1)
  readonly id!: Quote['id'];

  @OwnAmountField(
    'The amount without the fee, in minor units of the currency of the account. The debit is `amount` plus `feeAmount`.',
    '250000',
  )
  readonly amount!: Quote['amount'];

  @Field('ours', {
    type: 'string',
    pattern: '^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,15})?$',
    description:
      'Whole units of the target currency for one of the currency of the account, with at most fifteen significant digits.',
    example: '83',
  })
  readonly rate!: Quote['rate'];

  @OwnAmountField(
    'The fee, in minor units of the currency of the account. Omitted without a recipient, because the corridor sets the fee.',
    '600',
    false,
  )
  readonly feeAmount?: NonNullable<Quote['feeAmount']>;

  @OwnAmountField(
    'The amount that arrives, in minor units of the target currency: `amount` times `rate`, rounded down, or the `targetAmount` of the request.',
    '20750000',
  )
  readonly targetAmount!: Quote['targetAmount'];

  @OwnTimeField('Time of expiry.', true)
  readonly expiresAt!: Quote['expiresAt'];

  @OwnTimeField('Time of creation.')
  readonly createdAt?: NonNullable<Quote['createdAt']>;

  @OwnTimeField('Equal to `createdAt`: a quote does not change.')
  readonly updatedAt?: NonNullable<Quote['updatedAt']>;

  @OwnEdgeField(() => QuoteEdgesDto, 'Related records.')
  readonly edges!: QuoteEdgesDto;
}

class CreateQuoteInputDto implements CreateQuoteInput {
  @IdBodyField('ours', 'The account that pays.', 1)
  readonly accountID!: CreateQuoteInput['accountID'];

  @OptionalAmountBodyField(
    'ours',
    'The amount without the fee: digits in minor units of the currency of the account. `"250000"` in USD is 2500.00. Set this or `targetAmount`.',
    '250000',
  )
  readonly amount?: NonNullable<CreateQuoteInput['amount']>;

  @OptionalAmountBodyField(
    'ours',
    'The exact amount that arrives: digits in minor units of the target currency. `"20750000"` in INR is 207500.00. Set this or `amount`.',
    '20750000',
  )
  readonly targetAmount?: NonNullable<CreateQuoteInput['targetAmount']>;

  @OptionalIdBodyField('ours', 'The recipient. Set this or `targetCurrency`.', 2)
  readonly recipientID?: NonNullable<CreateQuoteInput['recipientID']>;

  @OptionalCurrencyBodyField(
    'ours',
    'The currency that arrives, for a quote without a recipient: an ISO 4217 code. Set this or `recipientID`.',
    'INR',
  )
  readonly targetCurrency?: string;
}

const QUOTE_ID = ['quoteId', 'A quote of the workspace.'] as const;

@ApiTags('Quotes')
@Controller('quotes')
class QuotesController {
  constructor(private readonly banking: BankingService) {}

  @Post()
  @Operation('createQuote', {
    summary: 'Quote a payment',
    description: paragraphs(
      'Returns the price of a payment and the amount that arrives.',
      'The price is binding until `expiresAt`, by default for five minutes, and for one order.',
      'A quote does not reserve money: the account can lack the amount when the order is placed.',
      '',
      'The account pays `amount` and `feeAmount`. The recipient receives `targetAmount`. The request sets one of the two amounts:',
      '',
      '- With `amount`, `targetAmount` is `amount` times `rate`, with the decimals of both currencies, rounded down.',
      'The quote fails with `amount_below_minimum` if less than one minor unit would arrive.',
      '- With `targetAmount`, exactly that amount arrives.',
      '`amount` is the smallest amount that covers it: `targetAmount` divided by `rate`, rounded up.',
      'An order at the quote repeats the `amount` of the quote.',
      '',
      'The service calculates with `rate` exactly as shown, rounded down to at most fifteen significant digits.',
      'The fee is rounded up.',
      '',
      'With a recipient, the service checks the payment as it checks an order.',
      'The account must be enabled, the corridor enabled, and the amount within the limits, which are inclusive and compared exactly.',
      'A SWIFT payout must reach the smallest amount that its currency requires.',
      'The fee is that of the corridor. It is `"0"` if the corridor has no fee, and for an account of this service.',
      'With `targetCurrency` alone, the quote has a rate and no fee.',
      '',
      'A deployment without a source of rates quotes payments within one currency only.',
    ),
    provenance: 'ours',
  })
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
  @Operation('getQuote', {
    summary: 'Retrieve a quote',
    description: 'Returns one quote unchanged, also after it expired or was used.',
    provenance: 'ours',
  })
  @ApiIdParam(...QUOTE_ID)
  @ApiOkResponse({ description: 'The quote.', type: QuoteDto })
  get(@CalledBy() caller: Caller, @Param('quoteId', IdPipe) quoteId: QuoteId): Promise<Quote> {
    return this.banking.getQuote(caller, { quoteId });
  }
}

@Module({ controllers: [QuotesController] })
export class QuotesModule {}
