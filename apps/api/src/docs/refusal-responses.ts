import { EVENT_RESOURCE_TYPES, ORDER_STEPS, Refusal, type RefusalReason, REFUSALS } from '@banking/domain';
import { bodyOf } from '../http/error-response.js';
import { malformedId } from '../http/id.pipe.js';
import { refusalOf, unknownMessage } from '../input/input.pipe.js';
import { AMOUNT_RULES, CURRENCY_RULE, INSTANT_RULE } from '../input/body-field.decorator.js';
import { freeTextRule, mustBe, onceMessage, PARAMETER_RULES } from '../input/parameter.decorator.js';

const AUDIT = '/audit-events';
/** The filters by an id in operations without an id in their path. */
const ID_FILTERS: Readonly<Record<string, string>> = { '/events': 'resourceId', [AUDIT]: 'actor' };
const REQUEST_ID = '0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b';

/** One response for each status, with an example for each reason of this operation. */
export function refusalResponses(reasons: readonly RefusalReason[], path: string): Record<string, RefusalResponse> {
  const statuses = new Map<number, RefusalReason[]>();
  for (const reason of new Set(reasons)) {
    const { status } = REFUSALS[reason];
    statuses.set(status, [...(statuses.get(status) ?? []), reason]);
  }
  return Object.fromEntries([...statuses].map(([status, some]) => [status, responseOf(some, path)]));
}

type RefusalResponse = ReturnType<typeof responseOf>;

function responseOf(reasons: readonly RefusalReason[], path: string) {
  const examples = reasons.map((reason) => {
    const value = bodyOf(exampleOf(reason, path), REQUEST_ID);
    return [reason, { summary: reason, value }] as const;
  });
  const schema = { $ref: '#/components/schemas/Error' };
  return {
    description: reasons.map(sentenceOf).join('\n\n'),
    content: { 'application/json': { schema, examples: Object.fromEntries(examples) } },
  };
}

function sentenceOf(reason: RefusalReason): string {
  const { message, action } = REFUSALS[reason];
  return `\`${reason}\`: ${message} ${action}`;
}

/** The refusal as this operation makes it. Most reasons have the message of the table of refusals. */
function exampleOf(reason: RefusalReason, path: string): Refusal {
  switch (reason) {
    case 'id_malformed':
      return malformedId(/\{(\w+Id)\}/.exec(path)?.[1] ?? ID_FILTERS[path] ?? 'accountId');
    case 'parameter_unknown':
      return refusalOf([{ path: 'colour', reason, message: unknownMessage('colour') }], reason);
    case 'parameter_repeated':
      return ofRepeated(path);
    case 'parameter_invalid':
      return parameterRefused(path);
    case 'limit_invalid':
      return ofParameter(reason, 'limit', PARAMETER_RULES.limit);
    case 'timestamp_invalid':
      return timeRefused(path);
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

function timeRefused(path: string): Refusal {
  const reason = 'timestamp_invalid';
  if (path.endsWith('/statement')) return ofParameter(reason, 'from', PARAMETER_RULES.instantOrDay);
  if (path.endsWith('/replay')) return ofField(reason, '/createdFrom', reason, mustBe('createdFrom', INSTANT_RULE));
  if (path.endsWith('/clock')) return ofField(reason, '/now', reason, mustBe('now', INSTANT_RULE));
  if (path.endsWith('/{accountId}/orders')) return ofField(reason, '/startAt', reason, mustBe('startAt', INSTANT_RULE));
  return ofParameter(reason, path === AUDIT ? 'from' : 'createdFrom', PARAMETER_RULES.instant);
}

function parameterRefused(path: string): Refusal {
  const reason = 'parameter_invalid';
  if (path === AUDIT) return ofParameter(reason, 'operation', freeTextRule(64));
  if (path.endsWith('/deliveries')) return ofParameter(reason, 'status', 'one of pending, delivered, failed');
  if (path === '/recipients') return ofParameter(reason, 'saved', PARAMETER_RULES.boolean);
  if (path === '/orders') return ofParameter(reason, 'status', `one of ${Object.keys(ORDER_STEPS).join(', ')}`);
  if (path === '/transfers') return ofParameter(reason, 'direction', 'one of debit, credit');
  if (path === '/events') return ofParameter(reason, 'resourceType', `one of ${EVENT_RESOURCE_TYPES.join(', ')}`);
  return ofParameter(reason, 'payoutMethod', 'one of LOCAL, SWIFT');
}

function ofRepeated(path: string): Refusal {
  const reason = 'parameter_repeated';
  const name = /schema|international/.test(path) ? 'payoutMethod' : 'limit';
  return refusalOf([{ path: name, reason, message: onceMessage(name) }], reason);
}

function ofParameter(reason: RefusalReason, name: string, must: string): Refusal {
  return refusalOf([{ path: name, reason, message: mustBe(name, must) }], reason);
}
