import type { OperationId } from '../access/access-check.js';
import type { Example, ExampleSource } from './examples.js';

/** An id of no demo data. The caller replaces it. */
const ID = 1001;

const ACCOUNT_CODE = 'BA0500000000001001';
const URL = 'https://hooks.harbour.example/banking';
const OWNER = 'Harbour Shipping';
const EMAIL = 'mia@harbour.example';
const CODE = 'inv_kq3Yx1uVb8sZr0cPpWm5nJ4hTtG7dLfE2aQoXiU9yRw';

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
  replaceLimits: [
    {
      name: 'account',
      summary: 'At most 10000.00 EUR a day from an account, and 50 orders a day of the workspace',
      body: {
        version: 0,
        limits: [
          { scope: 'account', accountID: ID, metric: 'amount', per: 'day', value: '1000000', currency: 'EUR' },
          { scope: 'workspace', metric: 'count', per: 'day', value: '50' },
        ],
      },
    },
  ],
  replaceApprovalRules: [
    {
      name: 'replaced',
      summary: 'Two approvals of orders above 10,000.00 EUR, and one of other changes',
      body: {
        version: 0,
        rules: [
          {
            ...{ operations: 'orders', approvals: 2, roles: ['approver'] },
            amountAbove: [{ currencyCode: 'EUR', amount: '1000000' }],
          },
          { operations: 'rules', approvals: 1, roles: ['admin'] },
        ],
      },
    },
  ],
  decideApproval: [
    { name: 'approved', summary: 'An approval', body: { decision: 'approve', version: 1, comment: 'Agreed' } },
    { name: 'rejected', summary: 'A rejection', body: { decision: 'reject', version: 1 } },
  ],
  inviteMember: [
    {
      name: 'invited',
      summary: 'A person who approves',
      body: { email: EMAIL, roles: ['approver'] },
    },
  ],
  changeMember: [{ name: 'changed', summary: 'Other roles', body: { roles: ['viewer', 'member'] } }],
  acceptInvitation: [{ name: 'accepted', summary: 'The code of the invitation', body: { code: CODE } }],
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
  createServiceAccount: [
    {
      name: 'created',
      summary: 'A program that pays',
      body: { name: 'Wages', roles: ['member'], scopes: ['orders:create', 'orders:read'] },
    },
  ],
  changeServiceAccount: [{ name: 'reading', summary: 'A program that only reads', body: { roles: ['viewer'] } }],
  createServiceAccountKey: [
    {
      name: 'created',
      summary: 'A key for one network, until a time',
      body: { networks: ['203.0.113.0/24'], expiresAt: '2099-01-31T09:00:00Z' },
    },
  ],
  rotateServiceAccountKey: [
    { name: 'rotated', summary: 'The former key stays valid for an hour', body: { overlapSeconds: 3_600 } },
  ],
};

const ACCOUNT = { name: OWNER, alias: 'Suppliers', code: ACCOUNT_CODE };
const TRANSFER = { description: 'Invoice 2093', purpose: 'SUPP' };
const PROGRAM = { name: 'Wages' };
const ENDPOINT = { url: URL, description: 'Ledger' };
const DATA = { ...BENEFICIARY, beneficiaryAddress: '1 Harbour Street, Hamburg' };

/** The examples of fields whose declared examples are values of the demo data, by schema. */
const FIELDS: ExampleSource['fields'] = {
  Account: ACCOUNT,
  AccountChange: { alias: 'Rent' },
  App: { name: 'Harbour' },
  ApprovalDecision: { comment: 'Agreed' },
  ApprovalDecisionInput: { comment: 'Agreed' },
  Beneficiary: { data: DATA },
  Corridor: { destinationCountry: 'DE', deliveryTAT: 'T+1', routingCodeType: 'SWIFT' },
  CreateServiceAccountInput: PROGRAM,
  CreateWebhookEndpointInput: ENDPOINT,
  Deposit: { reference: `Invoice 2093 ${ACCOUNT_CODE}` },
  DepositPayer: { name: 'Maria Muster' },
  ExecutedTransfer: TRANSFER,
  InvitationAcceptance: { code: CODE },
  InvitedMember: { email: EMAIL, code: CODE },
  InviteMemberInput: { email: EMAIL },
  JoinedMember: { email: EMAIL },
  Member: { email: EMAIL },
  RemovedMember: { email: EMAIL },
  InternalRecipient: { accountCode: ACCOUNT_CODE, name: 'Harbour Imports', alias: 'Imports, deposits' },
  InternationalRecipient: { data: DATA, alias: 'Maria, rent' },
  Movement: { ...TRANSFER, recipientName: 'Maria Muster' },
  Order: { description: 'Invoice 2093', purposeCode: 'SUPP', externalReference: 'INV-2093' },
  PaymentAdvice: { ...TRANSFER, rateSource: 'European Central Bank' },
  PlaceOrderInput: { description: 'Invoice 2093', purposeCode: 'SUPP', externalReference: 'INV-2093' },
  Recipient: { name: 'Maria Muster', alias: 'Maria, rent', accountCode: BENEFICIARY.beneficiaryAccountNumber },
  OpenAccountInput: { alias: 'Travel' },
  RecipientChange: { alias: 'Maria, deposit' },
  ServiceAccount: PROGRAM,
  ServiceAccountChange: { name: 'Wages, Hamburg' },
  StatementAccount: ACCOUNT,
  Transfer: TRANSFER,
  User: { email: EMAIL },
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
