import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const listApps: OperationText = {
  summary: 'List your apps',
  description: 'Lists every app you belong to. Start here: an app leads to its users, and each user to workspaces.',
  provenance: 'stated',
  refusals: [],
};

export const listAppUsers: OperationText = {
  summary: 'List the users of an app',
  description: paragraphs(
    'Lists the users of an app, with their workspaces and roles. The value of `Workspace-ID` comes from here.',
    '',
    'An admin of any workspace of the app sees every user with all roles.',
    'Other users see themselves and the users they share a workspace with, with the shared roles only.',
    'A user with the status `pending` has no role yet.',
  ),
  provenance: 'stated',
  statedParameters: ['appId'],
  refusals: ['id_malformed', 'app_not_found'],
};
