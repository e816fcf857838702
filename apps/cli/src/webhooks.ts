import type {
  WebhookDelivery,
  WebhookDeliveryId,
  WebhookDeliveryStatus,
  WebhookEndpointId,
  WorkspaceId,
} from '@banking/domain';
import { newestDeliveries, retryDelivery } from '@banking/operations/provisioning';
import { type Command, Option } from 'commander';
import { withDeployment } from './deployment.js';
import { inCellOf } from './each-cell.js';
import { examples } from './help.js';
import { asOption, type ChangeOptions, jsonOption, operatorOf, parseIdOf, workspaceOption } from './inputs.js';
import { print, printJson, printTable } from './print.js';
import { addListenCommand } from './webhook-listen.js';

interface EndpointOptions {
  readonly workspace: WorkspaceId;
  readonly endpoint: WebhookEndpointId;
}

interface DeliveriesOptions extends EndpointOptions {
  readonly status?: WebhookDeliveryStatus;
  readonly json?: boolean;
}

interface RetryOptions extends EndpointOptions, ChangeOptions {
  readonly delivery: WebhookDeliveryId;
}

const STATUSES: readonly WebhookDeliveryStatus[] = ['pending', 'delivered', 'failed'];

const HEAD = ['Id', 'Event', 'Type', 'Kind', 'Status', 'Attempts', 'Last attempt', 'Response', 'Next attempt'];

export function addWebhookCommands(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .summary('list and retry deliveries of webhooks, and forward events to a receiver under development')
    .description(
      'Shows what was delivered to a webhook endpoint, retries a delivery, and sends events to a receiver under development.',
    )
    .addHelpText(
      'after',
      examples(
        'banking webhooks deliveries --workspace 1 --endpoint 3 --status failed',
        'banking webhooks listen --workspace 1 --forward http://127.0.0.1:9000/hook',
      ),
    );
  addListenCommand(webhooks);

  webhooks
    .command('deliveries')
    .summary('list the deliveries of an endpoint')
    .description(
      'Lists the deliveries of a webhook endpoint, newest first, at most 100: the number of attempts, and the status of the last response or ' +
        'why there was none.',
    )
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(endpointOption())
    .addOption(new Option('--status <status>', 'only deliveries with this status').choices(STATUSES))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking webhooks deliveries --workspace 1 --endpoint 3 --status failed'))
    .action(async ({ workspace: workspaceId, endpoint: endpointId, status, json }: DeliveriesOptions) => {
      const deliveries = await withDeployment(
        ({ database }) => newestDeliveries(database, { workspaceId, endpointId }, status),
        { changesNothing: true, ...(await inCellOf(workspaceId)) },
      );
      if (json) printJson(deliveries);
      else printTable(HEAD, deliveries.map(cellsOf), 'The endpoint has no such deliveries.');
    });

  webhooks
    .command('retry')
    .summary('retry a delivery now')
    .description(
      'Makes a pending or failed delivery due now. A worker then sends it. The endpoint must not be disabled.',
    )
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(endpointOption())
    .addOption(
      new Option('--delivery <id>', 'id of the delivery; see banking webhooks deliveries')
        .argParser(parseIdOf<WebhookDeliveryId>)
        .makeOptionMandatory(),
    )
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking webhooks retry --workspace 1 --endpoint 3 --delivery 9'))
    .action(async (options: RetryOptions) => {
      const { workspace: workspaceId, endpoint: endpointId, delivery, json } = options;
      const retried = await withDeployment(
        ({ database }) => retryDelivery(database, operatorOf(options), { workspaceId, endpointId }, delivery),
        await inCellOf(workspaceId),
      );
      if (json) printJson(retried);
      else print(`Delivery ${delivery} of endpoint ${endpointId} of workspace ${workspaceId} is due now.`);
    });
}

function endpointOption(): Option {
  return new Option('--endpoint <id>', 'id of the webhook endpoint')
    .argParser(parseIdOf<WebhookEndpointId>)
    .makeOptionMandatory();
}

function cellsOf({ id, eventID, eventType, kind, status, attempts, lastAttempt, nextAttemptAt }: WebhookDelivery) {
  const response = lastAttempt?.responseStatus ?? lastAttempt?.error ?? '';
  return [
    ...[id, eventID ?? '', eventType, kind, status, attempts],
    ...[lastAttempt?.at ?? '', response, nextAttemptAt ?? ''],
  ];
}
