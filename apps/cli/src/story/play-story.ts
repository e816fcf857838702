import { setTimeout as pause } from 'node:timers/promises';
import type { WorkspaceView } from '@banking/client';
import { type AccountId, fromBalanceAmount, minorUnits, type MinorUnits, type Order, parseTransferAmount, type Quote, type RemittanceEvent, toDecimal, toTransferAmount } from '@banking/domain'; // prettier-ignore
import { Refused } from '../refused.js';

/** Who pays, and whom to tell. */
export interface Stage {
  readonly workspace: WorkspaceView;
  readonly accountId: AccountId;
  readonly say: (line: string) => void;
}

/** Somebody to be paid, and what the sandbox's network does with the end of the account number. */
interface Part {
  readonly title: string;
  readonly name: string;
  readonly account: string;
}

export const PARTS: readonly Part[] = [
  { title: 'A payment that arrives', name: 'Asha Rao', account: '50100123456789' },
  { title: 'A payment that is sent back', name: 'Ravi Kumar', account: '50100123459004' },
];

/** 100.00 in a currency of two decimals. */
const AMOUNT = toTransferAmount(minorUnits(10_000n));
const LOOK_MS = 250;
/** The network's last word comes within ten seconds where somebody works. */
const PATIENCE_MS = 60_000;

/** Plays one part: recipient, quote, order, and what is heard until the money has arrived or is back. */
export async function playPart(stage: Stage, part: Part): Promise<void> {
  const { workspace, accountId, say } = stage;
  say(`\n${part.title}`);
  await sayBalance(stage);

  const { resource: recipient } = await workspace.recipients.addInternational({ ...CORRIDOR, data: dataOf(part), saved: false }); // prettier-ignore
  say(`  recipient   ${recipient.name}, account ${recipient.accountCode}`);
  const { resource: quote } = await workspace.quotes.create({ accountID: accountId, recipientID: recipient.id, amount: AMOUNT }); // prettier-ignore
  say(`  quote       ${wordsOf(quote)}`);
  const { resource: order } = await workspace.orders.place(
    { accountId, recipientID: recipient.id, amount: AMOUNT, type: 'instant', quoteID: quote.id, purposeCode: 'IR001', description: part.title }, // prettier-ignore
    { idempotencyKey: `story-${crypto.randomUUID()}` },
  );

  await follow(stage, order);
  await sayBalance(stage);
}

const CORRIDOR = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' } as const;

const dataOf = ({ name, account }: Part) => ({
  beneficiaryName: name,
  beneficiaryAccountType: 'Individual',
  beneficiaryAccountNumber: account,
  beneficiaryCountryCode: 'IN',
  destinationCountry: 'IN',
  routingCodeType1: 'IFSC',
  routingCodeValue1: 'HDFC0000001',
});

function wordsOf({ amount, rate, targetAmount, feeAmount, edges }: Quote): string {
  const from = edges.account.edges.currency.code;
  const fee = feeAmount === undefined ? '' : `, fee ${money(parseTransferAmount(feeAmount), from)}`;
  return `${money(parseTransferAmount(amount), from)} at ${rate} is ${money(parseTransferAmount(targetAmount), edges.targetCurrency.code)}${fee}`;
}

/** Says each event once, with the seconds since the order, until nothing more is to come. */
async function follow({ workspace, accountId, say }: Stage, placed: Order): Promise<void> {
  const began = performance.now();
  const line = (what: string) => say(`  ${`+${((performance.now() - began) / 1_000).toFixed(1)} s`.padEnd(12)}${what}`);
  const said = new Set<number>();
  line(`order ${placed.id} is placed`);
  for (let order = placed; ; order = await workspace.orders.get(accountId, placed.id)) {
    const [execution] = order.edges.executions ?? [];
    const transaction = execution?.edges.transaction;
    for (const event of transaction?.edges?.internationalRemittance?.edges.events ?? []) {
      if (!said.has(event.id)) line(eventWords(event));
      said.add(event.id);
    }
    if (execution && execution.status !== 'pending') {
      line(`transaction ${transaction?.id ?? ''} is ${transaction?.status ?? execution.status}`);
      if (execution.failureMessage !== undefined) line(execution.failureMessage);
      return;
    }
    if (performance.now() - began > PATIENCE_MS) {
      throw new Refused(
        'The network has said no last word for a minute. Is the sandbox on, and does somebody work what is due? See docs/operate.md.',
      );
    }
    await pause(LOOK_MS);
  }
}

const MEANINGS: Readonly<Record<string, string>> = { ACSP: 'on its way', ACCC: 'credited', RJCT: 'rejected' };

const eventWords = ({ status, reasonCode = '' }: RemittanceEvent) =>
  `${`${status} ${reasonCode}`.padEnd(10)}${MEANINGS[status] ?? ''}`.trimEnd();

async function sayBalance({ workspace, accountId, say }: Stage): Promise<void> {
  const { edges } = await workspace.accounts.get(accountId);
  const [balance] = edges.balances;
  if (balance) say(`  balance     ${money(fromBalanceAmount(balance.amount), edges.currency.code)}`);
}

const money = (amount: MinorUnits, currency: string) => `${toDecimal(amount, currency)} ${currency}`;
