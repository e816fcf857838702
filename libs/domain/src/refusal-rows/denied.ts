import type { RefusalRow } from '../base-refusal.js';

/** 401, 403, 404. A resource that does not exist and a resource of another workspace have the same response. */
export const DENIED = {
  not_authenticated: {
    status: 401,
    message: 'The request carries no valid access token.',
    action: 'Obtain a new access token and send it as Authorization: Bearer.',
  },
  workspace_forbidden: {
    status: 403,
    message: 'The caller has no role in the workspace, or the workspace does not exist.',
    action: 'Use a workspace from the roles of the user, or ask its administrator for a role.',
  },
  role_insufficient: {
    status: 403,
    message: 'The role of the caller in the workspace does not allow the operation.',
    action: 'Ask an administrator of the workspace to call the operation, or to grant the role.',
  },
  order_not_found: {
    status: 404,
    message: 'The account or workspace has no order with this id.',
    action: 'Check the order id and the Workspace-ID. In a path with an account, use the account that pays the order.',
  },
  transfer_not_found: {
    status: 404,
    message: 'The workspace has no transfer with this id.',
    action: 'Check the transfer id and the Workspace-ID.',
  },
  app_not_found: {
    status: 404,
    message: 'The caller belongs to no app with this id.',
    action: 'Use an id from the list of apps.',
  },
  account_not_found: {
    status: 404,
    message: 'The workspace has no account with this id.',
    action: 'Check the account id and the Workspace-ID.',
  },
  recipient_not_found: {
    status: 404,
    message: 'The workspace has no recipient with this id.',
    action: 'Check the recipient id and the Workspace-ID.',
  },
  quote_not_found: {
    status: 404,
    message: 'The workspace has no quote with this id.',
    action: 'Check the quote id and the Workspace-ID.',
  },
  transaction_not_found: {
    status: 404,
    message: 'The workspace has no transaction with this id.',
    action:
      'Check the transaction id and the Workspace-ID. A tracking event needs the transaction of an international payment.',
  },
  event_not_found: {
    status: 404,
    message: 'The workspace has no event with this id.',
    action:
      'Check the event id and the Workspace-ID. Events are deleted after the time that the deployment keeps them.',
  },
  webhook_endpoint_not_found: {
    status: 404,
    message: 'The workspace has no webhook endpoint with this id.',
    action: 'Use an id from the list of webhook endpoints, and check the Workspace-ID.',
  },
  webhook_delivery_not_found: {
    status: 404,
    message: 'The webhook endpoint has no delivery with this id.',
    action: 'Use an id from the list of deliveries of the endpoint.',
  },
  country_unknown: {
    status: 404,
    message: 'No country has this code.',
    action: 'Send an ISO 3166-1 code of two or three letters.',
  },
  corridor_not_found: {
    status: 404,
    message: 'No corridor leads to this country in this currency with this payout method.',
    action: 'Choose from the list of corridors to the country.',
  },
  route_not_found: {
    status: 404,
    message: 'No operation has this path.',
    action: 'Compare the path with the OpenAPI document.',
  },
} as const satisfies Record<string, RefusalRow>;
