import { EVENT_TYPES, Refusal, type RefusalReason, REFUSALS } from '@banking/domain';
import { paragraphs } from '../access/operation.decorator.js';

/** Refusals before the operation is known, and of the files of the documentation page. */
const OUTSIDE_OPERATIONS: readonly RefusalReason[] = [
  'route_not_found',
  'method_not_allowed',
  'request_timeout',
  'precondition_failed',
  'uri_too_long',
  'headers_too_large',
];

interface Start {
  readonly sandbox: boolean;
  /** The address of the service. */
  readonly publicUrl?: string | undefined;
}

/**
 * The introduction above the operations. It is Markdown, and HTML for sections that fold, so that the operations stay near the top.
 *
 * @param reasons the refusals of the operations, which the table of errors shows
 */
export function introduction(reasons: ReadonlySet<RefusalReason>, { sandbox, publicUrl }: Start): string {
  const sections = [
    section('Money: all amounts in one table', MONEY, true),
    section('Payments: quote, order, transaction', PAYMENTS),
    section('Events: states and types', eventsSection()),
    section('Times, ids and empty fields', VALUES),
    section('Errors: reasons and what to do', errors(reasons)),
    section('Request ids, limits and retries', REQUESTS),
    section('Compatibility', COMPATIBILITY),
    section('Provenance: stated, known and ours', PROVENANCE),
  ];
  return [start(sandbox ? demoStart(publicUrl) : liveStart(publicUrl)), ...sections].join('\n\n');
}

/** A folded section. `section` begins a block of HTML in Markdown, and the blank lines continue the Markdown inside it. */
const section = (title: string, text: string, isOpen = false) => {
  const summary = `<summary>${title}</summary>`;
  return `<section><details${isOpen ? ' open' : ''}>${summary}\n\n${text}\n\n<section></section></details></section>`;
};

/** The steps for callers, which differ in their first and last lines. */
const start = ({ token, values }: { readonly token: readonly string[]; readonly values: string }) =>
  paragraphs(
    'Accounts in many currencies, recipients at home and abroad, and transfers with tracking until the money has arrived.',
    'Requests and responses are JSON over HTTP. Every amount comes from double-entry books.',
    '',
    '## Start in three steps',
    '',
    '1. **Get a token** from your identity provider, press **Authorize** and paste it.',
    ...token,
    '',
    '2. **Find your workspace.** `GET /apps` lists your apps, and `GET /apps/{appId}/users` lists the users of an app with their roles.',
    'Each role names a workspace.',
    '3. **Send its id** in the header `Workspace-ID` with every request that belongs to a workspace, and read a transfer.',
    '',
    values,
  );

const demoStart = (publicUrl = 'http://127.0.0.1:3000') => ({
  token: [
    'A demo deployment issues its own tokens. With these two lines you can copy every example on this page into a shell:',
    ...shell(publicUrl, '$(npm run -s token -- ada@northwind.example)'),
  ],
  values:
    'In the demo data, the app of Ada is 1 and the workspace of her company is 1. The fields below contain values that work there, ' +
    'in some operations after you have made what they name: an approval, an invitation, a webhook endpoint or a service ' +
    'account. Its limits, fees, delivery times and exchange rates are invented.',
});

const liveStart = (publicUrl = 'https://bank.example') => ({
  token: [
    'With these two lines you can copy the commands on this page into a shell:',
    ...shell(publicUrl, "'the token'"),
  ],
  values:
    'Set the other variables of a command, such as `$WORKSPACE_ID`, and replace the values of a body. They are examples, and no records of this deployment.',
});

const shell = (baseUrl: string, token: string) => [
  '',
  '   ```sh',
  `   export BASE_URL=${baseUrl}`,
  `   export TOKEN=${token}`,
  '   ```',
];

const MONEY = paragraphs(
  'All amounts are whole numbers of the smallest unit of their currency. `decimals` of the currency gives the number of decimal places:',
  '',
  '| Currency | `decimals` | In a balance | In a transfer | Displayed |',
  '|---|---|---|---|---|',
  '| EUR | 2 | `123450` | `"123450"` | 1,234.50 EUR |',
  '| JPY | 0 | `123450` | `"123450"` | 123,450 JPY |',
  '| KWD | 3 | `123450` | `"123450"` | 123.450 KWD |',
  '',
  '| Field | Format | Smallest unit of |',
  '|---|---|---|',
  "| `Balance.amount` | JSON integer, at most 2^53-1 | the account's `edges.currency` |",
  "| `Transfer.amount`, `Transfer.feeAmount` | string of digits, up to 19 | the account's `edges.currency` |",
  '| `Order.amount` | string of digits, up to 19 | the currency of the account that pays |',
  '| `Quote.amount`, `Quote.feeAmount` | string of digits, up to 19 | the currency of the account that pays |',
  '| `ApprovalBound.amount`, `ApprovalBoundTerms.amount` | string of digits, up to 19 | its `currencyCode` |',
  '| `Limit.value`, `Limit.used` | string of digits; of a `count`, a number of orders | `currency` of the limit |',
  '| `Deposit.amount` | string of digits, up to 19 | the currency of the account |',
  '| `BankReconciliation.openingBalance`, `BankReconciliation.closingBalance`, `BankReconciliation.unknownAmount` | string of digits,' +
    ' with `-` below zero | `edges.currency` |',
  '| `BankDifference.amount` | string of digits, up to 19 | `edges.currency` of its reconciliation |',
  '| `PaymentAdvice.amount`, `PaymentAdvice.feeAmount` | string of digits, up to 19 | the currency of the account that paid |',
  '| `PaymentAdvice.targetAmount` | string of digits, up to 19 | `edges.targetCurrency` |',
  '| `Quote.targetAmount` | string of digits, up to 19 | `edges.targetCurrency` |',
  '| `Statement.openingBalance`, `Statement.closingBalance`, `Movement.balanceAfter` | JSON integer, at most 2^53-1 |' +
    " the currency of the statement's account |",
  "| `Movement.amount`, `Movement.feeAmount` | string of digits, up to 19 | the currency of the statement's account |",
  '| `Corridor.minimumAmount`, `Corridor.maximumAmount` | string of digits, inclusive | `edges.limitCurrency` |',
  '| `CorridorFee.fixedAmount`, `CorridorFee.minimumAmount`, `CorridorFee.maximumAmount` | string of digits | `edges.limitCurrency` of the corridor |',
  '| `Currency.swiftMinimumWithdrawalAmount` | string of digits | that currency |',
  '',
  '- Read the strings as big integers or decimals. A floating-point number loses digits.',
  '- Amounts in request bodies have the format of responses: strings of digits, at least `"1"`.',
  '- `Quote.rate` is not an amount: it is a decimal number of whole units.',
  '- Amounts have no sign. `direction` is `debit` for money that left the account, and `credit` for money that arrived.',
  '- A fee is a transfer of its own in the same transaction. `feeAmount` repeats it for display: do not subtract it again.',
);

const PAYMENTS = paragraphs(
  'Request a quote, place an order, and follow its transaction:',
  '',
  '1. `POST /quotes` returns the price of a payment and the amount that arrives. The price is binding for some minutes, for one order.',
  '2. `POST /accounts/{accountId}/orders` pays at once, later, or repeatedly.',
  'Send an `Idempotency-Key`: without it, a repeated request is a second payment.',
  '3. `GET /orders/{orderId}` shows each run with its transaction and its tracking events.',
  '',
  '| | Is final when | Result |',
  '|---|---|---|',
  '| **Order** | no run of it is left | `completed`, `cancelled` or `failed` |',
  '| **Transaction** | the network reports the final status; within this service, at once |' +
    ' `completed`: the money has arrived. `failed`: it has not |',
  '| **Return** | the amount of a failed transaction is back |' +
    ' a new transaction with a credit of type `return`. The failed transaction is unchanged, and the fee is not refunded |',
  '',
  'An order that is `completed` can have a transaction that is `pending`: the money has left the account and has not arrived yet.',
);

const VALUES = paragraphs(
  '- **Times** are RFC 3339 in UTC with three to nine fractional digits: `2026-11-21T09:30:00.123456Z`. Those of requests are rounded to the microsecond.',
  'Compare them as instants: their text sorts correctly only with equal numbers of digits.',
  '- **Ids** are whole numbers from 1 to 2^53 - 1. Store them unchanged. Their order has no meaning. Their names end in `ID` in bodies, and in `Id` in paths and queries.',
  '- **Related records** are nested under `edges`.',
  '- **Empty fields** are omitted. The service never sends `null`, and an empty list is `[]`.',
  '- **Lists** of apps, users, products and corridors have no pages.',
  '- **Resources of other workspaces:** the response is the same as for a resource that does not exist, byte for byte.',
);

const REQUESTS = paragraphs(
  '- **`X-Request-Id`** is in every response, and in the body of every error as `requestId`. Quote it in support requests.',
  'The service uses the id that you send, if it is valid.',
  '- **`RateLimit-Policy`** and **`RateLimit`** are present if the deployment sets a limit.',
  '`"user";q=100;w=2` allows 100 requests in 2 seconds. `"user";r=99;t=1` means that 99 are left, and all are available again in 1 second.',
  'Requests are counted for each user in each workspace.',
  '`"orders"` counts the attempts of a workspace to place an order, including refused ones, but not replays of a placed order.',
  '- **`Retry-After`** is in every 429 and 503. The request was not executed: wait that many seconds and send it again.',
  'After a 504 `outcome_unknown`, or without a response, a request that creates or changes something may have been executed:',
  'send it again with its `Idempotency-Key`, or look for its `externalReference` first. You can repeat a read after any failure.',
  '- **`ETag`** is on responses that change rarely. Send it as `If-None-Match`: 304 without a body means that your copy is still valid.',
  '- Every response is JSON, except tables (CSV) and statements as camt.053 (XML). Pages of other origins can call the service if the deployment allows it.',
);

const COMPATIBILITY = paragraphs(
  'The paths have no version. Documented behaviour stays. Your client must accept these changes at any time:',
  '',
  '- new fields in a response, new headers, new operations;',
  '- new values where the interface names examples, such as the status of a tracking event or the type of a transfer.',
  'Pass on a value that you do not know;',
  '- new reasons of errors. For an unknown `reason`, use the status.',
);

const PROVENANCE = paragraphs(
  'This service implements a published interface that leaves some details open. `x-provenance` gives the source of every operation,',
  'and of every field and parameter that the interface does not define:',
  '',
  '| Mark | Meaning | Works with |',
  '|---|---|---|',
  '| **stated** | The published interface defines it. | every implementation of the interface |',
  '| **known** | The interface leaves it, or its values, open. Callers of this family of interfaces expect it. | most implementations |',
  '| **ours** | The interface does not define it. This service does. | this service |',
  '',
  'A field or parameter without a mark is stated.',
);

function errors(reasons: ReadonlySet<RefusalReason>): string {
  const shown = new Set<string>([...reasons, ...OUTSIDE_OPERATIONS]);
  const listed = (Object.entries(REFUSALS) as [RefusalReason, (typeof REFUSALS)[RefusalReason]][])
    .filter(([reason]) => shown.has(reason))
    .sort(([, a], [, b]) => a.status - b.status);
  const rows = listed.map(
    ([reason, { status, message, action }]) => `| ${status} | \`${reason}\` | ${message} | ${action} |`,
  );
  return paragraphs(
    '```json',
    JSON.stringify(EXAMPLE, null, 2),
    '```',
    '',
    'Every error has this form. `message` is for people. `reason` is for programs: a stable value of the table below.',
    `\`errorCode\` is the error code of the published interface: ${coarse(listed.map(([reason]) => reason))}, or else the reason itself.`,
    '`details` names each invalid part of the request with its `path`, `reason` and `message`.',
    '',
    '| Status | `reason` | Meaning | What to do |',
    '|---|---|---|---|',
    ...rows,
  );
}

const EXAMPLE = {
  errorCode: 'invalid_request',
  message: 'The workspace has no transfer with this id.',
  reason: 'transfer_not_found',
  requestId: '0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b',
};

/** The statuses of each error code that differs from its reason. */
function coarse(reasons: readonly RefusalReason[]): string {
  const statuses = new Map<string, Set<number>>();
  for (const reason of reasons) {
    const { status, errorCode } = new Refusal(reason);
    if (errorCode !== reason) statuses.set(errorCode, (statuses.get(errorCode) ?? new Set()).add(status));
  }
  return [...statuses].map(([errorCode, some]) => `\`${errorCode}\` for ${[...some].join(', ')}`).join('; ');
}

/** The pictures of states, in the order of a payment. `npm run openapi` draws them from the tables of states. */
export const STATE_DIAGRAMS = [
  { name: 'order-states', title: 'States of an order' },
  { name: 'execution-states', title: 'States of an execution' },
  { name: 'transaction-states', title: 'States of a transaction' },
  { name: 'payout-states', title: 'States of a payout' },
] as const;

/** The section of events in the introduction: the diagrams of states, whose steps are events, and all types of events. */
function eventsSection(): string {
  return paragraphs(
    '`GET /events` lists what happened in a workspace, oldest first. Follow the `Link` with the relation `next`, and store its cursor.',
    'With `wait=20`, the service responds as soon as there is an event.',
    '',
    'Each arrow is a step, with the type of its event. A final state is green after success, and red otherwise. The dot is a resource that is new.',
    '',
    ...STATE_DIAGRAMS.flatMap(({ name, title }) => [`![${title}](docs/${name}.svg)`, '']),
    'A payout ends together with its transaction, whose event tells it. It may end before its submission is known to have succeeded.',
    '',
    '| Type | Meaning |',
    '|---|---|',
    ...EVENT_TYPES.map(({ type, description }) => `| \`${type}\` | ${description} |`),
  );
}
