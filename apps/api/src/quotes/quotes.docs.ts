import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const QUOTE_ID = ['quoteId', 'A quote of the workspace.'] as const;

export const createQuote: OperationText = {
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
  refusals: [
    'amount_malformed',
    'amount_out_of_range',
    'currency_unknown',
    'account_not_found',
    'account_disabled',
    'recipient_invalid',
    'corridor_disabled',
    'payouts_unavailable',
    'amount_below_minimum',
    'amount_above_maximum',
    'rate_unavailable',
  ],
  body: 'creates',
};

export const getQuote: OperationText = {
  summary: 'Retrieve a quote',
  description: 'Returns one quote unchanged, also after it expired or was used.',
  provenance: 'ours',
  refusals: ['id_malformed', 'quote_not_found'],
};
