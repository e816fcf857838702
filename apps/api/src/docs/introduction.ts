import { type RefusalReason, REFUSALS } from '@banking/domain';
import { REFUSAL_ACTIONS } from '@banking/domain/prose';

/** Refused before it is known which operation was meant, and for the files of the docs page. */
const OUTSIDE_OPERATIONS: readonly RefusalReason[] = ['route_not_found', 'method_not_allowed', 'request_timeout', 'precondition_failed', 'uri_too_long', 'headers_too_large']; // prettier-ignore

/**
 * The first thing an integrator reads, above the operations. HTML only where Markdown has nothing for it: sections that
 * fold, so that the operations stay near.
 *
 * @param reasons what the operations refuse with; the table of errors shows these and no others
 * @param baseUrl where the paths begin; without `PUBLIC_URL`, the address of a demo
 */
export function introduction(reasons: ReadonlySet<RefusalReason>, baseUrl = 'http://127.0.0.1:3000'): string {
  const sections = [
    section('Money: every amount in one table', MONEY, true),
    section('Paying: what is done when', PAYING),
    section('Times, ids and empty fields', VALUES),
    section('Errors: every reason, and what to do about it', errors(reasons)),
    section('Request ids, limits and retries', REQUESTS),
    section('Compatibility and deprecation', COMPATIBILITY),
    section('What stated, known and ours mean', PROVENANCE),
  ];
  return [start(baseUrl), ...sections].join('\n\n');
}

/** A folded section. The first tag is one that Markdown knows as a block; the blank lines let Markdown go on inside. */
const section = (title: string, text: string, isOpen = false) =>
  `<section><details${isOpen ? ' open' : ''}><summary>${title}</summary>\n\n${text}\n\n<section></section></details></section>`;

const start = (
  baseUrl: string,
) => `Accounts in many currencies, recipients at home and abroad, and transfers you can follow until the money has arrived. Everything is JSON over HTTP, and every amount comes from double-entry books.

## Start in three steps

1. **Get a token** from your identity provider, press **Authorize** and paste it. A demo deployment makes its own, and these two lines let you copy every example on this page into a shell:

   \`\`\`sh
   export BASE_URL=${baseUrl}
   export TOKEN=$(npm run -s token -- ada@northwind.example)
   \`\`\`

2. **Find your workspace.** \`GET /apps\` lists your apps, \`GET /apps/{appId}/users\` the people of one with their roles. Each role names a workspace.
3. **Send its id** in the header \`Workspace-ID\` with everything that belongs to a workspace, and read a transfer.

In the demo world Ada's app is 1 and her company's workspace is 1. The fields below are filled in with values that work there.`;

const MONEY = `No amount is ever a fraction. Every one counts the smallest unit of its currency, and \`decimals\` of the currency says where the point goes when people read it:

| Currency | \`decimals\` | In a balance | In a transfer | People read |
|---|---|---|---|---|
| EUR | 2 | \`123450\` | \`"123450"\` | 1,234.50 EUR |
| JPY | 0 | \`123450\` | \`"123450"\` | 123,450 JPY |
| KWD | 3 | \`123450\` | \`"123450"\` | 123.450 KWD |

| Field | Written as | Whose smallest unit |
|---|---|---|
| \`Balance.amount\` | JSON integer, at most 2^53-1 | the account's \`edges.currency\` |
| \`Transfer.amount\`, \`Transfer.feeAmount\` | string of digits, up to 19 | the account's \`edges.currency\` |
| \`Order.amount\` | string of digits, up to 19 | the currency of the account that pays |
| \`Quote.amount\`, \`Quote.feeAmount\` | string of digits, up to 19 | the currency of the account that pays |
| \`Quote.targetAmount\` | string of digits, up to 19 | \`edges.targetCurrency\` |
| \`Statement.openingBalance\`, \`Statement.closingBalance\`, \`Movement.balanceAfter\` | JSON integer, at most 2^53-1 | the currency of the statement's account |
| \`Movement.amount\`, \`Movement.feeAmount\` | string of digits, up to 19 | the currency of the statement's account |
| \`Corridor.minimumAmount\`, \`Corridor.maximumAmount\` | string of digits, inclusive | \`edges.limitCurrency\` |
| \`Currency.swiftMinimumWithdrawalAmount\` | string of digits | that currency |

- Read the strings as big integers or decimals. A floating point number loses digits, and with them money.
- Amounts in the body of a request are written as in the answer: strings of digits, at least \`"1"\`.
- \`Quote.rate\` is no amount: it is a decimal between whole units.
- An amount has no sign: \`direction\` says \`debit\` where money left the account, \`credit\` where it arrived.
- A fee is a transfer of its own in the same transaction. \`feeAmount\` repeats it for display: do not subtract it again.`;

const PAYING = `Ask for a quote, place an order, follow its transaction:

1. \`POST /quotes\` says what a payment costs and what arrives. The price binds for some minutes, for one order.
2. \`POST /accounts/{accountId}/orders\` pays: at once, later, or again and again. Send an \`Idempotency-Key\`, or a request that is sent again is a second payment.
3. \`GET /accounts/{accountId}/orders/{orderId}\` shows each run with its transaction, and what the network has said of it so far.

| | Is done when | And then |
|---|---|---|
| **Order** | nothing of it is left to run | \`completed\`, \`cancelled\` or \`failed\`, for good |
| **Transaction** | the network has said its last word; within this service, at once | \`completed\`: the money has arrived. \`failed\`: it has not |
| **Return** | a failed transaction has brought its amount back | a new transaction with a credit of type \`return\`. The old one is never edited, and the fee is kept |

So an order that is \`completed\` may have a transaction that is \`pending\`: the money has left the account and has not arrived yet.`;

const VALUES = `- **Times** are RFC 3339 in UTC with three to nine fractional digits: \`2026-11-21T09:30:00.123456Z\`. Compare them as instants: as text they order only when they have equally many digits.
- **Ids** are whole numbers from 1 to 2^53 - 1. Keep them as they came; that one is larger than another means nothing.
- **Related records** are nested under \`edges\`.
- **Empty fields** are left out. \`null\` is never sent, and a list is \`[]\`, never missing.
- **Lists** of apps, users, products and corridors are whole: there are no pages.
- **Not yours and not there** are the same answer, byte for byte.`;

const REQUESTS = `- **\`X-Request-Id\`** is in every answer, and in the body of every error as \`requestId\`. Name it when you ask for help. Send one of your own and it is kept.
- **\`RateLimit-Policy\`** and **\`RateLimit\`** are there where the deployment sets a limit: \`"user";q=100;w=2\` allows 100 requests in 2 seconds, \`"user";r=99;t=1\` says that 99 are left and that all are back in 1 second. Requests are counted for each user in each workspace; \`"orders"\` counts the attempts of a workspace to place an order, refused ones too, but not a replay of an order that was placed.
- **\`Retry-After\`** is in every 429 and 503: nothing was done; wait that many seconds, then send the request again. After a 504 \`outcome_unknown\` or no answer at all, what makes or changes something may have been carried out: send it again with its \`Idempotency-Key\`, or look first for its \`externalReference\`. A read may be sent again after any failure.
- **\`ETag\`** is on answers that change rarely. Send it as \`If-None-Match\` when you ask again: 304 without a body says that yours still holds.
- Every answer is \`application/json\`. Other origins may call from a browser where the deployment allows them.`;

const COMPATIBILITY = `There is no version in the paths. What is documented stays, and these changes may come on any day, so let them pass:

- new fields in an answer, new headers, new operations;
- new values where the interface names examples, such as the status of a tracking event, the type of a transfer, a routing code type. Pass on a value you do not know; do not fail on it;
- new reasons for errors. Where you do not know a \`reason\`, go by the status.

A path that is going away is marked here, and says so in its answers: \`Deprecation\` since when, \`Sunset\` until when at least, \`Link\` with \`rel="successor-version"\` what replaces it. There is a year between the two dates. Until then it answers exactly as its successor does.`;

const PROVENANCE = `This service answers a published interface, which leaves some things open. \`x-provenance\` says of every operation, and of every field and parameter that the interface does not settle, where it comes from:

| Mark | Meaning | Rely on it |
|---|---|---|
| **stated** | The published interface says so. | with every implementation of it |
| **known** | It leaves this, or the values of this, open; callers of this family of interfaces expect it so. | with most |
| **ours** | It says nothing; we decided. | with this service |

A field or parameter without a mark is stated.`;

function errors(reasons: ReadonlySet<RefusalReason>): string {
  const shown = new Set<string>([...reasons, ...OUTSIDE_OPERATIONS]);
  const listed = (Object.entries(REFUSALS) as [RefusalReason, (typeof REFUSALS)[RefusalReason]][])
    .filter(([reason]) => shown.has(reason))
    .sort(([, a], [, b]) => a.status - b.status);
  const rows = listed.map(
    ([reason, { status, meaning }]) => `| ${status} | \`${reason}\` | ${meaning} | ${REFUSAL_ACTIONS[reason]} |`,
  );
  return `\`\`\`json
{
  "errorCode": "invalid_request",
  "message": "The workspace has no transfer with this id.",
  "reason": "transfer_not_found",
  "requestId": "0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b"
}
\`\`\`

Every error has this form. \`message\` is for people. For programs there is \`reason\`: a stable word from the table. \`errorCode\` is the coarser word of the published interface: ${coarse(listed)}, else the reason itself. Where parts of the request are at fault, \`details\` names each with its \`path\`, \`reason\` and \`message\`.

| Status | \`reason\` | What happened | What to do |
|---|---|---|---|
${rows.join('\n')}`;
}

/** Which statuses share an error code: those whose code is not their reason. */
function coarse(listed: readonly (readonly [string, { status: number; errorCode: string }])[]): string {
  const statuses = new Map<string, Set<number>>();
  for (const [reason, { status, errorCode }] of listed) {
    if (errorCode !== reason) statuses.set(errorCode, (statuses.get(errorCode) ?? new Set()).add(status));
  }
  return [...statuses].map(([errorCode, some]) => `\`${errorCode}\` for ${[...some].join(', ')}`).join('; ');
}
