/**
 * The kinds of identifiers, with the response that a caller gets for an identifier of another workspace:
 *
 * - `absent`: the same as for an identifier that exists nowhere.
 * - `independent`: the same as for a new value. Each workspace chooses these values for itself.
 * - `public`: the identifier may be used, because callers give it to others. Nothing else of its workspace is returned.
 */
export const KINDS = {
  workspace: 'absent',
  app: 'absent',
  account: 'absent',
  recipient: 'absent',
  quote: 'absent',
  order: 'absent',
  /** A filter by a user, which returns an empty list. */
  user: 'absent',
  transfer: 'absent',
  deposit: 'absent',
  transaction: 'absent',
  event: 'absent',
  webhookEndpoint: 'absent',
  webhookDelivery: 'absent',
  /** A filter by a reference, which returns an empty list. */
  storedReference: 'absent',
  cursor: 'absent',
  key: 'independent',
  reference: 'independent',
  accountCode: 'public',
} as const;

export type Kind = keyof typeof KINDS;

/** The kind of every position that holds an identifier. A name has one meaning in all operations. */
export const IDENTIFIERS: Readonly<Record<string, Kind>> = {
  'header Workspace-ID': 'workspace',
  'header Idempotency-Key': 'key',
  'path appId': 'app',
  'path accountId': 'account',
  'path recipientId': 'recipient',
  'path quoteId': 'quote',
  'path orderId': 'order',
  'path transferId': 'transfer',
  'path depositId': 'deposit',
  'path transactionId': 'transaction',
  'path eventId': 'event',
  'path webhookEndpointId': 'webhookEndpoint',
  'path webhookDeliveryId': 'webhookDelivery',
  'query accountId': 'account',
  'query recipientId': 'recipient',
  'query resourceId': 'order',
  'query placedBy': 'user',
  'query actor': 'user',
  'query externalReference': 'storedReference',
  'query cursor': 'cursor',
  'body accountID': 'account',
  'body recipientID': 'recipient',
  'body quoteID': 'quote',
  'body externalReference': 'reference',
  'body accountCode': 'accountCode',
};

/** Every other position, with what it holds. None of it belongs to a workspace. */
export const NO_IDENTIFIERS: Readonly<Record<string, string>> = {
  'header If-None-Match': 'the version of reference data, the same for all workspaces',
  'path country': 'a country',
  'query countryCode': 'a country',
  'query currencyCode': 'a currency',
  'query limit': 'a number of items',
  'query from': 'a time',
  'query to': 'a time',
  'query createdFrom': 'a time',
  'query createdTo': 'a time',
  'query type': 'a type of transfers or events',
  'query wait': 'a number of seconds',
  'query operation': 'the name of an operation',
  'query resourceType': 'a type of resources',
  'body productID': 'a product, the same for all workspaces',
  'body amount': 'an amount',
  'body targetAmount': 'an amount',
  'body targetCurrency': 'a currency',
  'body alias': 'text of the caller',
  'body name': 'text of the caller',
  'body description': 'text of the caller',
  'body metadata.*': 'text of the caller',
  'body purposeCode': 'a purpose code',
  'body reasonCode': 'a reason code of ISO 20022',
  'body repeatValue': 'a number of days, weeks or months',
  'body startAt': 'a time',
  'body stopAt': 'a time',
  'body now': 'a time',
  'body createdFrom': 'a time',
  'body createdTo': 'a time',
  'body types': 'types of events',
  'body url': 'an address on the internet',
  'body data.beneficiaryName': 'text of the caller',
  'body data.beneficiaryAddress': 'text of the caller',
  'body data.destinationCountry': 'a country',
  'body data.beneficiaryAccountType': 'a kind of beneficiary',
  'body data.beneficiaryCountryCode': 'a country',
  'body data.beneficiaryAccountNumber': 'an account of another bank',
  'body data.routingCodeType1': 'a kind of bank codes',
  'body data.routingCodeValue1': 'a bank',
  'body data.beneficiaryStreetName': 'text of the caller',
  'body data.beneficiaryBuildingNumber': 'text of the caller',
  'body data.beneficiaryPostCode': 'text of the caller',
  'body data.beneficiaryTownName': 'text of the caller',
};
