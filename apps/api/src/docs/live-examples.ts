import type { OperationId } from '../access/access-matrix.js';
import type { Example, ExampleSource } from './examples.js';

/** An id of no demo data. The caller replaces it. */
const ID = 1001;

const ACCOUNT_CODE = 'BA0500000000001001';
const URL = 'https://hooks.harbour.example/banking';
const OWNER = 'Harbour Shipping';

const BENEFICIARY = {
  beneficiaryName: 'Maria Muster',
  destinationCountry: 'DE',
  beneficiaryAccountType: 'Individual',
  beneficiaryCountryCode: 'DE',
  beneficiaryAccountNumber: 'DE02120300000000202051',
  routingCodeType1: 'SWIFT',
  routingCodeValue1: 'BYLADEM1001',
};

/** The bodies of requests. Paths and headers have no values, because an id of the demo data can be that of another record here. */
const REQUESTS: Readonly<Partial<Record<OperationId, readonly Example[]>>> = {
  openAccount: [{ name: 'opened', summary: 'A second account', body: { productID: ID, alias: 'Travel' } }],
  changeAccount: [{ name: 'renamed', summary: 'Another alias', body: { alias: 'Rent' } }],
  addInternationalRecipient: [
    {
      name: 'iban',
      summary: 'A person with an IBAN',
      body: {
        data: BENEFICIARY,
        alias: 'Maria, rent',
      },
    },
  ],
  addInternalRecipient: [
    {
      name: 'account',
      summary: 'An account of another workspace',
      body: { accountCode: ACCOUNT_CODE, name: 'Harbour Imports', saved: false },
    },
  ],
  changeRecipient: [{ name: 'renamed', summary: 'Another alias', body: { alias: 'Maria, deposit' } }],
  createQuote: [
    {
      name: 'recipient',
      summary: '2500.00 from an account in euros, to a recipient',
      body: { accountID: ID, recipientID: ID, amount: '250000' },
    },
    {
      name: 'exact',
      summary: 'An invoice of 2000.00 USD: what it costs',
      body: { accountID: ID, targetCurrency: 'USD', targetAmount: '200000' },
    },
  ],
  placeOrder: [
    {
      name: 'instant',
      summary: 'Now',
      body: { amount: '250000', recipientID: ID, type: 'instant', description: 'Invoice 2093' },
    },
    {
      name: 'monthly',
      summary: 'On the last day of every month',
      body: {
        ...{ amount: '5000', recipientID: ID, type: 'recurring', repeatUnit: 'monthly', repeatValue: 1 },
        startAt: '2099-01-31T09:00:00+01:00',
      },
    },
  ],
  createWebhookEndpoint: [
    {
      name: 'created',
      summary: 'An endpoint for parked payouts',
      body: { url: URL, types: ['payout.parked'], description: 'Ledger' },
    },
  ],
  changeWebhookEndpoint: [
    {
      name: 'changed',
      summary: 'Another name and more types',
      body: { description: 'Ledger, Hamburg', types: ['payout.parked', 'payout.released'] },
    },
  ],
  replayWebhookEvents: [
    {
      name: 'replayed',
      summary: 'The events of an hour',
      body: { createdFrom: '2026-11-21T09:00:00Z', createdTo: '2026-11-21T10:00:00Z' },
    },
  ],
};

const ACCOUNT = { name: OWNER, alias: 'Suppliers', code: ACCOUNT_CODE };
const TRANSFER = { description: 'Invoice 2093', purpose: 'SUPP' };
const ENDPOINT = { url: URL, description: 'Ledger' };
const DATA = { ...BENEFICIARY, beneficiaryAddress: '1 Harbour Street, Hamburg' };

/** The examples of fields whose declared examples are values of the demo data, by schema. */
const FIELDS: ExampleSource['fields'] = {
  Account: ACCOUNT,
  AccountChange: { alias: 'Rent' },
  App: { name: 'Harbour' },
  Beneficiary: { data: DATA },
  Corridor: { destinationCountry: 'DE', deliveryTAT: 'T+1', routingCodeType: 'SWIFT' },
  CreateWebhookEndpointInput: ENDPOINT,
  Deposit: { reference: `Invoice 2093 ${ACCOUNT_CODE}` },
  DepositPayer: { name: 'Maria Muster' },
  ExecutedTransfer: TRANSFER,
  InternalRecipient: { accountCode: ACCOUNT_CODE, name: 'Harbour Imports', alias: 'Imports, deposits' },
  InternationalRecipient: { data: DATA, alias: 'Maria, rent' },
  Movement: { ...TRANSFER, recipientName: 'Maria Muster' },
  Order: { description: 'Invoice 2093', purposeCode: 'SUPP', externalReference: 'INV-2093' },
  PaymentAdvice: { ...TRANSFER, rateSource: 'European Central Bank' },
  PlaceOrderInput: { description: 'Invoice 2093', purposeCode: 'SUPP', externalReference: 'INV-2093' },
  Recipient: { name: 'Maria Muster', alias: 'Maria, rent', accountCode: BENEFICIARY.beneficiaryAccountNumber },
  OpenAccountInput: { alias: 'Travel' },
  RecipientChange: { alias: 'Maria, deposit' },
  StatementAccount: ACCOUNT,
  Transfer: TRANSFER,
  User: { email: 'mia@harbour.example' },
  WebhookEndpoint: ENDPOINT,
  WebhookEndpointChange: { url: `${URL}/v2`, description: 'Ledger, Hamburg' },
  WebhookEndpointWithSecret: ENDPOINT,
  Workspace: { name: OWNER },
};

/** The examples of a live deployment. Responses are recorded from the demo data only, so that there are none. */
export const LIVE_EXAMPLES: ExampleSource = {
  requests: (operation) => REQUESTS[operation] ?? [],
  responses: () => ({}),
  fields: FIELDS,
};
