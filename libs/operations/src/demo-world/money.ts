import { parseAmount, type RecipientId, type TransferAmount } from '@banking/domain';
import type { Books } from '@banking/ledger';
import { recordRailEvent, recordRejection, sandboxMessage } from '@banking/payouts';
import { demoAccount, demoRecipient, disableOnce } from './accounts.js';
import { fund, payInternally, payOut } from './movements.js';
import { DemoOrders, makeLaterOrders } from './orders.js';
import type { People } from './people.js';
import { madeBefore, note } from './world.js';

/** Accounts, recipients and one transfer of every kind. Amounts are written as people write them. */
export async function makeMoney(books: Books, { northwind, adaPersonal, southwind, cy }: People): Promise<void> {
  const open = (workspaceId: number, workspace: string, currency: string, alias: string) =>
    demoAccount(books, `accounts:${workspace} ${currency}`, { workspaceId, currency, name: workspace, alias });

  const usd = await open(northwind, 'Northwind Trading', 'USD', 'Operations');
  const eur = await open(northwind, 'Northwind Trading', 'EUR', 'European suppliers');
  const gbp = await open(northwind, 'Northwind Trading', 'GBP', 'London office');
  const jpy = await open(northwind, 'Northwind Trading', 'JPY', 'Tokyo office');
  const kwd = await open(northwind, 'Northwind Trading', 'KWD', 'Kuwait office');
  const payroll = await demoAccount(books, 'payroll:Northwind Trading USD', {
    workspaceId: northwind,
    currency: 'USD',
    name: 'Northwind Trading',
    alias: 'Payroll',
  });
  const adaEur = await demoAccount(books, 'accounts:Ada personal EUR', {
    workspaceId: adaPersonal,
    currency: 'EUR',
    name: 'Ada Northwind',
    alias: 'Savings for the summer',
  });
  const southwindUsd = await open(southwind, 'Southwind Imports', 'USD', 'Main');

  await fund(books, 'transfers:funding', usd, parseAmount('1250000.00', 'USD'));
  for (const [account, currency, amount] of [
    [eur, 'EUR', '480000.00'],
    [gbp, 'GBP', '96000.00'],
    [jpy, 'JPY', '12000000'],
    [kwd, 'KWD', '15500.250'],
    [adaEur, 'EUR', '8200.50'],
    [southwindUsd, 'USD', '310000.00'],
  ] as const) {
    await fundQuietly(books, account, currency, amount);
  }

  const internal = await demoRecipient(books, 'recipients:internal', {
    workspaceId: northwind,
    name: 'Northwind payroll',
    alias: 'Payroll',
    accountCode: payroll.code,
    currency: 'USD',
  });
  const international = await demoRecipient(books, 'recipients:international', {
    workspaceId: northwind,
    name: 'Ravi Menon',
    alias: 'Ravi, Mumbai',
    accountCode: '50100123456789',
    currency: 'INR',
    abroad: {
      swiftCode: 'HDFCINBB',
      data: {
        beneficiaryName: 'Ravi Menon',
        beneficiaryAddress: '12 Marine Drive, Mumbai',
        destinationCountry: 'IN',
        beneficiaryAccountType: 'Individual',
        beneficiaryCountryCode: 'IN',
        beneficiaryAccountNumber: '50100123456789',
        routingCodeType1: 'IFSC',
        routingCodeValue1: 'HDFC0000001',
      },
    },
  });
  const berlin = await demoRecipient(books, 'more recipients:Berlin', {
    workspaceId: northwind,
    name: 'Northwind Trading Berlin',
    alias: 'Berlin office',
    accountCode: 'DE89370400440532013000',
    currency: 'EUR',
    abroad: {
      swiftCode: 'DEUTDEFF',
      data: {
        beneficiaryName: 'Northwind Trading Berlin',
        beneficiaryAddress: 'Uferstrasse 4, 13357 Berlin',
        destinationCountry: 'DE',
        beneficiaryAccountType: 'Corporate',
        beneficiaryCountryCode: 'DE',
        beneficiaryAccountNumber: 'DE89370400440532013000',
        routingCodeType1: 'SWIFT',
        routingCodeValue1: 'DEUTDEFF',
      },
    },
  });

  await payInternally(
    books,
    'transfers:internal',
    { from: usd, recipientId: internal, amount: parseAmount('42000.00', 'USD'), description: 'Payroll for the month' },
    payroll,
  );

  const invoice = {
    from: eur,
    recipientId: berlin,
    amount: parseAmount('18750.00', 'EUR'),
    description: 'Float for Berlin',
    purpose: 'IR001',
  };
  const paid = await payOut(books, 'transfers:international', invoice, parseAmount('12.50', 'EUR'));
  await hear(books, northwind, paid.transactionId, ['ACSP G000', 'ACSP G001', 'ACSP G003', 'ACCC']);

  const deposit = {
    from: eur,
    recipientId: berlin,
    amount: parseAmount('3200.00', 'EUR'),
    description: 'Float for next month',
    purpose: 'IR001',
  };
  const waiting = await payOut(books, 'transfers:pending', deposit, parseAmount('12.50', 'EUR'));
  await hear(books, northwind, waiting.transactionId, ['ACSP G000']);

  const refund = {
    from: eur,
    recipientId: berlin,
    amount: parseAmount('940.00', 'EUR'),
    description: 'Float for the fair',
    purpose: 'IR001',
  };
  const refused = await payOut(books, 'transfers:returned', refund, parseAmount('12.50', 'EUR'));
  await hear(books, northwind, refused.transactionId, ['ACSP G000', 'ACSP G001']);
  const step = 'returns:returned';
  if ((await madeBefore(books.database, step)) === undefined) {
    const rejection = { status: 'RJCT', reasonCode: 'AC04', message: sandboxMessage('RJCT', 'AC04') };
    const event = { providerEvent: 'demo-3', ...rejection };
    await recordRejection(books, northwind, refused.transactionId, event, () => [note(step, refused.transactionId)]);
  }

  const orders = new DemoOrders(books);
  const support = await orders.payAtQuote('transfers:spot', usd, {
    recipientID: international as RecipientId,
    amount: '250000' as TransferAmount,
    type: 'instant',
    description: 'Family support',
    purposeCode: 'IR002',
    externalReference: 'FAMILY-1',
  });
  await hear(books, northwind, support.transactionId, ['ACSP G000', 'ACSP G001', 'ACCC']);
  await makeLaterOrders(orders, eur, berlin, cy);

  const fair = await demoAccount(books, 'more accounts:Trade fair', {
    workspaceId: northwind,
    currency: 'EUR',
    name: 'Northwind Trading',
    alias: 'Trade fair 2025',
  });
  await disableOnce(books, 'more disabled accounts:Trade fair', fair);
}

type DemoHolder = Parameters<typeof fund>[2];

/** Funds an account whose funding has no name of its own in the demo world. */
async function fundQuietly(books: Books, account: DemoHolder, currency: string, amount: string): Promise<void> {
  await fund(books, `fundings:${account.id}`, account, parseAmount(amount, currency));
}

/** Events as the network would send them: status, then its reason where it gives one. */
async function hear(books: Books, workspaceId: number, transactionId: number, words: readonly string[]): Promise<void> {
  for (const [index, word] of words.entries()) {
    const [status = '', reasonCode] = word.split(' ');
    await recordRailEvent(books, workspaceId, transactionId, {
      providerEvent: `demo-${index + 1}`,
      status,
      reasonCode,
      message: sandboxMessage(status, reasonCode),
    });
  }
}
