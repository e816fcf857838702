/** The kinds of resources that have events. The id of a payout is that of its transaction. */
export const EVENT_RESOURCE_TYPES = [
  'order',
  'execution',
  'transaction',
  'transfer',
  'account',
  'recipient',
  'quote',
  'payout',
  'webhookEndpoint',
] as const;
export type EventResourceType = (typeof EVENT_RESOURCE_TYPES)[number];
