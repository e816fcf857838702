import type { MinorUnits } from '@banking/domain';
import { post, type Books, type Entry, type Leg, type Outcome } from '@banking/ledger';
import { openTracking } from '@banking/payouts';
import { bind, statement } from '@banking/postgres';
import type { DemoAccount } from './accounts.js';
import { madeBefore, note } from './world.js';

/** Money is booked by the database's day. */
const TODAY = statement<{ today: string }>(
  'demo_today',
  `select (statement_timestamp() at time zone 'UTC')::date::text as today`,
);

/** What a demo transfer posted: the transaction, and the customer's transfer that carries its name. */
export interface DemoMovement {
  readonly transactionId: number;
  readonly transferId: number;
}

/** Posts an entry once. The first leg is the customer's, and the transfer the demo world names. */
async function postOnce(
  books: Books,
  step: string,
  entry: Omit<Entry, 'valueDate'>,
  tracked = false,
): Promise<DemoMovement> {
  const transactionStep = `transaction of ${step}`;
  const transferId = await madeBefore(books.database, step);
  if (transferId !== undefined) {
    return { transferId, transactionId: (await madeBefore(books.database, transactionStep))! };
  }
  const named = ([outcome]: readonly Outcome[]) => {
    if (!outcome?.posted) throw outcome?.refused ?? new Error(`${step} was not posted`);
    const transaction = outcome.posted[0]!;
    return { transaction, transferId: transaction.transfers[0]!.id };
  };
  const { today } = (await books.database.read({}, bind(TODAY)))!;
  const proposal = { entries: [{ ...entry, valueDate: today }] };
  const outcomes = await post(books, [proposal], (decided) => {
    const { transaction, transferId: id } = named(decided);
    return [
      ...(tracked ? openTracking([{ workspaceId: entry.workspaceId, transactionId: transaction.id }]) : []),
      note(transactionStep, transaction.id),
      note(step, id),
    ];
  });
  const { transaction, transferId: id } = named(outcomes);
  return { transactionId: transaction.id, transferId: id };
}

export function fund(books: Books, step: string, account: DemoAccount, amount: MinorUnits): Promise<DemoMovement> {
  const { workspaceId, currencyId: currency } = account;
  return postOnce(books, step, {
    workspaceId,
    status: 'completed',
    legs: [
      {
        account: account.id,
        currencyId: currency,
        direction: 'credit',
        amount,
        type: 'funding',
        description: 'Opening funds',
      },
      { account: 'settlement', currencyId: currency, direction: 'debit', amount, type: 'funding' },
    ],
  });
}

export interface DemoPayment {
  readonly from: DemoAccount;
  readonly recipientId: number;
  readonly amount: MinorUnits;
  readonly description: string;
  readonly purpose?: string;
}

/** Account to account in one workspace: completed at once, without a fee. */
export function payInternally(
  books: Books,
  step: string,
  payment: DemoPayment,
  to: DemoAccount,
): Promise<DemoMovement> {
  const { from, recipientId, amount, description } = payment;
  const leg = { currencyId: from.currencyId, amount, type: 'internal', description };
  return postOnce(books, step, {
    workspaceId: from.workspaceId,
    status: 'completed',
    legs: [
      { ...leg, account: from.id, direction: 'debit', recipientId },
      { ...leg, account: to.id, direction: 'credit' },
    ],
  });
}

/** Money on its way out, with its fee and its tracking. Pending until the network's last word. */
export function payOut(books: Books, step: string, payment: DemoPayment, fee: MinorUnits): Promise<DemoMovement> {
  const { from, amount } = payment;
  return postOnce(
    books,
    step,
    {
      workspaceId: from.workspaceId,
      status: 'pending',
      legs: [
        debit(payment, fee),
        { account: 'settlement', currencyId: from.currencyId, direction: 'credit', amount, type: 'payout' },
        ...feeLegs(payment, fee),
      ],
    },
    true,
  );
}

function debit({ from, recipientId, amount, description, purpose }: DemoPayment, feeAmount: MinorUnits): Leg {
  return {
    account: from.id,
    currencyId: from.currencyId,
    direction: 'debit',
    amount,
    type: 'payout',
    description,
    purpose,
    feeAmount,
    recipientId,
  };
}

function feeLegs({ from, recipientId }: DemoPayment, amount: MinorUnits): Leg[] {
  const fee = { currencyId: from.currencyId, amount, type: 'fee', description: 'Transfer fee' };
  return [
    { ...fee, account: from.id, direction: 'debit', recipientId },
    { ...fee, account: 'fees', direction: 'credit' },
  ];
}
