import type { RefusalRow } from '../refusal.js';

/** Who asks may not, or what they ask for is not there: 401, 403, 404. Not there and not theirs are the same. */
export const DENIED = {
  not_authenticated: {
    status: 401,
    errorCode: 'invalid_request',
    meaning: 'The request carries no valid access token.',
    action: 'Obtain a new access token and send it as Authorization: Bearer.',
  },
  workspace_forbidden: {
    status: 403,
    errorCode: 'forbidden',
    meaning: 'The caller has no role in the workspace, or there is no such workspace.',
    action: 'Use a workspace from the roles of the user, or ask its administrator for a role.',
  },
  role_insufficient: {
    status: 403,
    errorCode: 'forbidden',
    meaning: 'The role of the caller in the workspace does not allow the operation.',
    action: 'Ask an administrator of the workspace to do it or to grant the role.',
  },
  transfer_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no transfer with this id.',
    action: 'Check the transfer id and the Workspace-ID.',
  },
  app_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The caller belongs to no app with this id.',
    action: 'Use an id from the list of apps.',
  },
  account_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no account with this id.',
    action: 'Check the account id and the Workspace-ID.',
  },
  recipient_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'The workspace has no recipient with this id.',
    action: 'Check the recipient id and the Workspace-ID.',
  },
  country_unknown: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'There is no country with this code.',
    action: 'Send an ISO 3166-1 code, of two letters or three.',
  },
  corridor_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'There is no corridor to this country in this currency by this payout method.',
    action: 'Choose one of the corridors to the country.',
  },
  route_not_found: {
    status: 404,
    errorCode: 'invalid_request',
    meaning: 'There is no operation at this path.',
    action: 'Compare the path with the OpenAPI document.',
  },
} as const satisfies Record<string, RefusalRow>;
