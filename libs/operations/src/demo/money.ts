import { parseAmount, type TransferAmount, type UserId } from '@banking/domain';
import type { Books } from '@banking/ledger';
import { DemoBookings } from './bookings.js';
import { DemoBank } from './demo-bank.js';
import type { DemoCells } from './demo-cells.js';
import { makeLaterOrders, payAtQuote } from './orders.js';
import type { People } from './people.js';
import { once } from './demo-steps.js';

/** Accounts, recipients and one transfer of every kind. */
export async function makeMoney(
  books: Books,
  { northwind, adaPersonal, southwind, cy }: People,
  cells: DemoCells,
): Promise<void> {
  const bank = new DemoBank(books, cells);
  const open = (step: string, workspaceId: number, currency: string, alias: string, code: string) =>
    bank.openAccount(step, { workspaceId, currency, alias, code });

  const usd = await open('accounts:Northwind Trading USD', northwind, 'USD', 'Operations', 'NW0000000001');
  const eur = await open('accounts:Northwind Trading EUR', northwind, 'EUR', 'European suppliers', 'NW0000000002');
  const gbp = await open('accounts:Northwind Trading GBP', northwind, 'GBP', 'London office', 'NW0000000003');
  const jpy = await open('accounts:Northwind Trading JPY', northwind, 'JPY', 'Tokyo office', 'NW0000000004');
  const kwd = await open('accounts:Northwind Trading KWD', northwind, 'KWD', 'Kuwait office', 'NW0000000005');
  const payroll = await open('payroll:Northwind Trading USD', northwind, 'USD', 'Payroll', 'NW0000000006');
  const savings = 'Savings for the summer';
  const adaEur = await open('accounts:Ada personal EUR', adaPersonal, 'EUR', savings, 'NW0000000007');
  const southwindUsd = await open('accounts:Southwind Imports USD', southwind, 'USD', 'Main', 'NW0000000008');

  await bank.fund('transfers:funding', usd, '1250000.00');
  for (const [account, amount] of [
    [eur, '480000.00'],
    [gbp, '96000.00'],
    [jpy, '12000000'],
    [kwd, '15500.250'],
    [adaEur, '8200.50'],
    [southwindUsd, '310000.00'],
  ] as const) {
    await bank.fund(`fundings:${account.id}`, account, amount);
  }

  const internal = await bank.addInternalRecipient('recipients:internal', northwind, {
    accountCode: payroll.code,
    name: 'Northwind payroll',
    alias: 'Payroll',
  });
  const international = await bank.addInternationalRecipient('recipients:international', northwind, {
    countryCode: 'IN',
    currencyCode: 'INR',
    payoutMethod: 'LOCAL',
    alias: 'Ravi, Mumbai',
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
  });
  const berlin = await bank.addInternationalRecipient('more recipients:Berlin', northwind, {
    countryCode: 'DE',
    currencyCode: 'EUR',
    payoutMethod: 'LOCAL',
    alias: 'Berlin office',
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
  });

  const bookings = new DemoBookings(bank);
  const salaries = { from: usd, recipientId: internal, amount: parseAmount('42000.00', 'USD') };
  await bookings.payInternally('transfers:internal', { ...salaries, description: 'Payroll for the month' }, payroll);

  const float = { from: eur, recipientId: berlin, purpose: 'IR001' };
  const fee = parseAmount('12.50', 'EUR');
  const invoice = { ...float, amount: parseAmount('18750.00', 'EUR'), description: 'Float for Berlin' };
  await bookings.payOut('transfers:international', invoice, fee, [
    ['ACSP', 'G000'],
    ['ACSP', 'G001'],
    ['ACSP', 'G003'],
    ['ACCC'],
  ]);
  const deposit = { ...float, amount: parseAmount('3200.00', 'EUR'), description: 'Float for next month' };
  await bookings.payOut('transfers:pending', deposit, fee, [['ACSP', 'G000']]);
  const refused = { ...float, amount: parseAmount('940.00', 'EUR'), description: 'Float for the fair' };
  await once(books.database, 'returns:returned', () =>
    bookings.payOut('transfers:returned', refused, fee, [
      ['ACSP', 'G000'],
      ['ACSP', 'G001'],
      ['RJCT', 'AC04'],
    ]),
  );

  const support = {
    recipientID: international,
    amount: '250000' as TransferAmount,
    type: 'instant',
    description: 'Family support',
    purposeCode: 'IR002',
    externalReference: 'FAMILY-1',
  } as const;
  await payAtQuote(bank, 'transfers:spot', usd, support, [['ACSP', 'G000'], ['ACSP', 'G001'], ['ACCC']]);
  await makeLaterOrders(bank, eur, berlin, cy as UserId);

  const fair = await open('more accounts:Trade fair', northwind, 'EUR', 'Trade fair 2025', 'NW0000000021');
  await bank.disableAccount('more disabled accounts:Trade fair', fair);
}
