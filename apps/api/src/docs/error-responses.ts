import { STATUS_CODES } from 'node:http';
import { type AccountId, type Limit, Refusal, type RefusalReason, REFUSALS } from '@banking/domain';
import { bodyOf } from '../http/refusal.filter.js';
import { malformedId, refusalOf, unknownMessage } from '../input/input.pipe.js';
import { AMOUNT_RULES, CURRENCY_RULE } from '../input/body-field.decorator.js';
import { mustBe, onceMessage, PARAMETER_RULES } from '../input/parameter.decorator.js';
import { responseHeaders } from './response-headers.js';

const REQUEST_ID = '0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b';

/** Statuses whose reasons follow from the rules of the operation itself, not from the form of a request and the access to it. */
const OF_RULES = [404, 409, 410, 422];

type Marks = Parameters<typeof responseHeaders>[1];
type Examples = Record<string, { readonly summary: string; readonly value: object }>;

interface RefusingOperation {
  readonly operation: string;
  readonly path: string;
  readonly refusals: readonly RefusalReason[];
  readonly marks: Marks;
}

interface Reference {
  readonly $ref: string;
  readonly description?: string;
}

/**
 * The error responses of the document, once each in its components. The operations refer to them. The names stay the same while
 * operations are added, because generators make identifiers from them:
 *
 * - a response for one reason has the name of the reason: `TransferNotFound`;
 * - several reasons that follow from the rules of an operation have a response of that operation: `PlaceOrderUnprocessableEntity`;
 * - several other reasons are one response for all operations, with the name of the status: `BadRequest`. Each reference lists the
 *   reasons of its operation. OpenAPI 3.1 replaces the description of the response by it.
 */
export class ErrorResponses {
  private readonly byName = new Map<string, { readonly reasons: Set<RefusalReason>; readonly operation: Outline }>();

  /** The responses of an operation by status, in the order of its refusals. */
  referencesOf(operation: RefusingOperation): Record<string, Reference> {
    const byStatus = new Map<number, Set<RefusalReason>>();
    for (const reason of operation.refusals) {
      const { status } = REFUSALS[reason];
      byStatus.set(status, (byStatus.get(status) ?? new Set()).add(reason));
    }
    return Object.fromEntries(
      [...byStatus].map(([status, reasons]) => [status, this.referenceTo(status, [...reasons], operation)]),
    );
  }

  /** The responses that operations refer to, for the components. */
  components(): Record<string, object> {
    const order = Object.keys(REFUSALS);
    const sorted = [...this.byName].sort(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(
      sorted.map(([name, { reasons, operation }]) => {
        const inOrder = [...reasons].sort((one, other) => order.indexOf(one) - order.indexOf(other));
        return [name, { ...contentOf(inOrder, operation.path), headers: operation.headers }];
      }),
    );
  }

  private referenceTo(
    status: number,
    reasons: readonly RefusalReason[],
    { operation, path, marks }: RefusingOperation,
  ): Reference {
    const headers = responseHeaders(status, marks);
    const isShared = reasons.length > 1 && !OF_RULES.includes(status);
    const name = [
      marks.isPublic ? 'Public' : '',
      reasons.length === 1 ? pascal(reasons[0] ?? '') : `${isShared ? '' : upperFirst(operation)}${phrase(status)}`,
      'Idempotency-Key' in headers ? 'WithKey' : '',
      'Link' in headers ? 'WithLink' : '',
    ].join('');
    this.add(name, reasons, { path, headers });
    const $ref = `#/components/responses/${name}`;
    return isShared
      ? { $ref, description: `One of ${reasons.map((reason) => `\`${reason}\``).join(', ')}.` }
      : { $ref };
  }

  /** @throws Error if operations give two responses the same name */
  private add(name: string, reasons: readonly RefusalReason[], operation: Outline): void {
    const known = this.byName.get(name);
    if (known === undefined) {
      this.byName.set(name, { reasons: new Set(reasons), operation });
      return;
    }
    if (Object.keys(known.operation.headers).join() !== Object.keys(operation.headers).join()) {
      throw new Error(`the error responses called ${name} differ in their headers`);
    }
    for (const reason of reasons) known.reasons.add(reason);
  }
}

interface Outline {
  readonly path: string;
  readonly headers: object;
}

const upperFirst = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const pascal = (text: string) => text.split(/[_ ]/).map(upperFirst).join('');
const phrase = (status: number) => pascal(STATUS_CODES[status] ?? '');

/** The description and the body, with an example of each reason. */
function contentOf(reasons: readonly RefusalReason[], path: string) {
  const examples: Examples = Object.fromEntries(
    reasons.map((reason) => [reason, { summary: reason, value: bodyOf(refusalExample(reason, path), REQUEST_ID) }]),
  );
  const schema = { $ref: '#/components/schemas/Error' };
  return { description: reasons.map(sentenceOf).join('\n\n'), content: { 'application/json': { schema, examples } } };
}

function sentenceOf(reason: RefusalReason): string {
  const { message, action } = REFUSALS[reason];
  return `\`${reason}\`: ${message} ${action}`;
}

/**
 * An example of a refusal. Most reasons have the message of the table of refusals. A refusal of malformed input names the parameter or
 * field at fault, here one of those that operations have.
 *
 * @param path the path of an operation that makes it
 */
function refusalExample(reason: RefusalReason, path: string): Refusal {
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
    case 'balance_limit_exceeded':
      if (path.startsWith('/sandbox/')) return new Refusal(reason);
      return ofField(reason, '/recipientID', reason, REFUSALS[reason].message);
    case 'purpose_code_required':
    case 'purpose_code_invalid':
      return ofField(reason, '/purposeCode', reason, REFUSALS[reason].message);
    case 'quote_unusable':
    case 'quote_used':
    case 'quote_expired':
      return ofField(reason, '/quoteID', reason, REFUSALS[reason].message);
    case 'external_reference_reused':
      return ofField(reason, '/externalReference', reason, REFUSALS[reason].message);
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
