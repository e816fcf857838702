import { type AccountId, type Limit, Refusal, type RefusalReason, REFUSALS } from '@banking/domain';
import { malformedId, refusalOf, unknownMessage } from '../input/input.pipe.js';
import { AMOUNT_RULES, CURRENCY_RULE } from '../input/body-field.decorator.js';
import { mustBe, onceMessage, PARAMETER_RULES } from '../input/parameter.decorator.js';

/**
 * An example of a refusal. Most reasons have the message of the table of refusals. A refusal of malformed input names the parameter or
 * field at fault, here one of those that operations have.
 *
 * @param path the path of an operation that makes it
 */
export function refusalExample(reason: RefusalReason, path: string): Refusal {
  switch (reason) {
    case 'id_malformed':
      return malformedId('accountId');
    case 'parameter_unknown':
      return refusalOf([{ path: 'colour', reason, message: unknownMessage('colour') }], reason);
    case 'parameter_repeated':
      return refusalOf([{ path: 'limit', reason, message: onceMessage('limit') }], reason);
    case 'parameter_invalid':
      return ofParameter(reason, 'payoutMethod', 'one of LOCAL, SWIFT');
    case 'limit_invalid':
      return ofParameter(reason, 'limit', PARAMETER_RULES.limit);
    case 'timestamp_invalid':
      return ofParameter(reason, 'createdFrom', PARAMETER_RULES.instant);
    case 'amount_malformed':
      return ofField(reason, '/amount', reason, mustBe('amount', AMOUNT_RULES.digits));
    case 'amount_out_of_range':
      return ofField(reason, '/amount', reason, mustBe('amount', AMOUNT_RULES.range));
    case 'body_malformed':
      return new Refusal(reason, 'The body is not JSON in UTF-8.');
    case 'field_unknown':
      return refusalOf([{ path: '/colour', reason, message: unknownMessage('colour') }], reason);
    case 'webhook_url_refused':
      return ofField(reason, '/url', reason, 'url must begin with https://.');
    case 'recipient_invalid':
      return recipientRefused(path);
    case 'purpose_code_required':
    case 'purpose_code_invalid':
      return ofField(reason, '/purposeCode', reason, REFUSALS[reason].message);
    case 'schedule_invalid':
      return ofField(reason, '/startAt', 'not_taken', 'startAt must be left out where type is instant.');
    case 'currency_unknown':
      return ofField(reason, '/targetCurrency', reason, mustBe('targetCurrency', CURRENCY_RULE));
    case 'amount_below_minimum':
      return ofField(reason, '/amount', reason, 'The amount is below the corridor minimum of 10.00 USD.');
    case 'amount_above_maximum':
      return ofField(reason, '/amount', reason, 'The amount is above the corridor maximum of 50000.00 USD.');
    case 'limit_exceeded':
      return new Refusal(reason, LIMIT_EXCEEDED, {
        details: [{ path: '/amount', reason, message: LIMIT_EXCEEDED, limit: LIMIT }],
      });
    case 'payment_limit_invalid':
      return ofField(reason, '/limits/0', reason, 'A limit of this scope needs accountID.');
    case 'network_invalid':
      return ofField(reason, '/networks/0', reason, REFUSALS[reason].message);
    case 'rate_unavailable':
      return new Refusal(reason, 'There is no rate from USD to GEL. Choose another currency.');
    case 'header_repeated':
      return new Refusal(reason, 'Send the header accept once.');
    case 'unavailable':
      return new Refusal(
        reason,
        path === '/health/ready' ? 'The service is not ready.' : 'The database is temporarily unavailable.',
      );
    default:
      return new Refusal(reason);
  }
}

const LIMIT_EXCEEDED = 'The limit of the account is 10000000.00 USD in an order.';
const LIMIT: Limit = {
  scope: 'account',
  accountID: 1 as AccountId,
  metric: 'amount',
  currency: 'USD',
  per: 'order',
  value: '1000000000',
};

/** The message of the recipient schemas. */
const NAME_REQUIRED =
  'beneficiaryName is required. First and last name, at most 140 characters on one line, with a letter or digit, without spaces at either end. For example: Maria Muster';

function ofField(reason: RefusalReason, path: string, rule: string, message: string): Refusal {
  return new Refusal(reason, message, { details: [{ path, reason: rule, message }] });
}

function recipientRefused(path: string): Refusal {
  const reason = 'recipient_invalid';
  if (path.endsWith('/internal')) {
    return ofField(reason, '/accountCode', 'account_unknown', 'No account has this accountCode.');
  }
  if (path.endsWith('/international')) return ofField(reason, '/data/beneficiaryName', 'required', NAME_REQUIRED);
  return ofField(reason, '/recipientID', reason, 'The workspace has no recipient with this id.');
}

function ofParameter(reason: RefusalReason, name: string, must: string): Refusal {
  return refusalOf([{ path: name, reason, message: mustBe(name, must) }], reason);
}
