import { REFUSALS } from '@banking/domain';

const errors = Object.entries(REFUSALS)
  .map(
    ([reason, { status, errorCode, meaning, action }]) =>
      `| ${status} | \`${errorCode}\` | \`${reason}\` | ${meaning} ${action} |`,
  )
  .join('\n');

/** The first thing an integrator reads, above the operations. */
export const INTRODUCTION = `
Accounts in many currencies, recipients at home and abroad, and transfers you can follow until the money has arrived.

## Access in three steps

1. **Get a token** from your identity provider. In a demo deployment: \`npm run -s token -- ada@northwind.example\`.
   Press **Authorize** and paste it, without the word Bearer.
2. **Find your workspace**: \`GET /apps\`, then \`GET /apps/{appId}/users\`. Each role names a workspace.
3. **Send its id** in the header \`Workspace-ID\` with everything that belongs to a workspace.

## Amounts

No amount is ever a fraction. Minor units are cents for USD, yen for JPY, fils for KWD: \`decimals\` of the currency says how many places to shift.

| Where | Written as | Example | Means |
|---|---|---|---|
| \`Balance.amount\` | JSON integer, minor units | \`123450\` in EUR | 1234.50 EUR |
| \`Transfer.amount\`, \`feeAmount\` | string of digits, minor units of the account's currency | \`"123450"\` in JPY | 123450 JPY |
| \`Corridor.minimumAmount\`, \`maximumAmount\` | string of digits, minor units of \`edges.limitCurrency\` | \`"1000"\` in USD | 10.00 USD |
| \`Currency.swiftMinimumWithdrawalAmount\` | string of digits, minor units of that currency | \`"15000"\` in KWD | 15.000 KWD |

## Times

RFC 3339 in UTC with three to nine fractional digits, as strings: \`2026-11-21T09:30:00.123456Z\`.

## Words that may grow

Statuses of tracking events, routing code types, delivery times and types of transfers can gain values. Pass on what you do not know.
Optional fields are left out when empty; \`null\` is never sent. Lists are \`[]\`, never missing.

## What the marks mean

\`x-provenance\` stands on operations, and on fields that the published interface does not state:
**stated** is in the published interface · **known** is what callers of this family of interfaces expect · **ours** is our own decision.

## Errors

Every error is JSON: \`errorCode\` and \`message\` as published, \`reason\` as a stable word for programs, \`requestId\` to name when you ask for help.

| Status | errorCode | reason | What it means and what to do |
|---|---|---|---|
${errors}
`;
