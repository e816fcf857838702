import { parseAmount, toTransferAmount, type TransferAmount, type UserId } from '@banking/domain';
import { DemoBank, type Books } from './demo-bank.js';
import { makeLaterOrders, pay, payAtQuote } from './orders.js';
import type { People } from './people.js';

const units = (amount: string, currency: string) => toTransferAmount(parseAmount(amount, currency));

/** Accounts, recipients and one transfer of every kind. */
export async function makeMoney(books: Books, { northwind, adaPersonal, southwind, cy }: People): Promise<void> {
  const bank = new DemoBank(books);
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

  await bank.fund('transfers:funding', usd, units('1250000.00', 'USD'));
  for (const [account, amount] of [
    [eur, units('480000.00', 'EUR')],
    [gbp, units('96000.00', 'GBP')],
    [jpy, units('12000000', 'JPY')],
    [kwd, units('15500.250', 'KWD')],
    [adaEur, units('8200.50', 'EUR')],
    [southwindUsd, units('310000.00', 'USD')],
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
  const addBerlin = (step: string, alias: string, beneficiaryAccountNumber: string, saved = true) =>
    bank.addInternationalRecipient(step, northwind, {
      countryCode: 'DE',
      currencyCode: 'EUR',
      payoutMethod: 'SWIFT',
      alias,
      saved,
      data: {
        beneficiaryName: 'Northwind Trading Berlin',
        beneficiaryAddress: 'Uferstrasse 4, 13357 Berlin',
        destinationCountry: 'DE',
        beneficiaryAccountType: 'Corporate',
        beneficiaryCountryCode: 'DE',
        beneficiaryAccountNumber,
        routingCodeType1: 'SWIFT',
        routingCodeValue1: 'DEUTDEFF',
      },
    });
  const berlin = await addBerlin('more recipients:Berlin', 'Berlin office', 'DE89370400440532013000');
  // The network of the sandbox reports no final status for an account number with this ending.
  const pending = await addBerlin(
    'more recipients:Berlin pending',
    'Berlin warehouse',
    'DE73370400440532019011',
    false,
  );

  await pay(bank, 'transfers:internal', usd, {
    recipientID: internal,
    amount: units('42000.00', 'USD'),
    description: 'Payroll for the month',
  });
  const float = { recipientID: berlin, purposeCode: 'IR001' };
  const invoice = { ...float, amount: units('18750.00', 'EUR'), description: 'Float for Berlin' };
  await pay(bank, 'transfers:international', eur, invoice, [
    ['ACSP', 'G000'],
    ['ACSP', 'G001'],
    ['ACSP', 'G003'],
    ['ACCC'],
  ]);
  const deposit = { ...float, recipientID: pending, amount: units('3200.00', 'EUR') };
  await pay(bank, 'transfers:pending', eur, { ...deposit, description: 'Float for next month' });
  const refused = { ...float, amount: units('940.00', 'EUR'), description: 'Float for the fair' };
  await pay(bank, 'transfers:returned', eur, refused, [
    ['ACSP', 'G000'],
    ['ACSP', 'G001'],
    ['RJCT', 'AC04'],
  ]);

  const support = {
    recipientID: international,
    amount: '250000' as TransferAmount,
    description: 'Family support',
    purposeCode: 'IR002',
    externalReference: 'FAMILY-1',
  } as const;
  await payAtQuote(bank, 'transfers:spot', usd, support, [['ACSP', 'G000'], ['ACSP', 'G001'], ['ACCC']]);
  await makeLaterOrders(bank, eur, berlin, cy as UserId);

  const fair = await open('more accounts:Trade fair', northwind, 'EUR', 'Trade fair 2025', 'NW0000000021');
  await bank.disableAccount('more disabled accounts:Trade fair', fair);
}
