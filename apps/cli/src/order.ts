import type { OrderId, WorkspaceId } from '@banking/domain';
import { placerAfter, resumePausedOrder } from '@banking/operations/provisioning';
import { Argument, type Command } from 'commander';
import { withDeployment } from './deployment.js';
import { inCellOf } from './each-cell.js';
import { examples, jsonOption, nameOption, parseIdOf, workspaceOption } from './inputs.js';
import { type ApproveOptions, approveOption, bySecondOperator } from './operator-request.js';
import { print, printJson } from './print.js';

interface ResumeOptions extends ApproveOptions {
  readonly workspace: WorkspaceId;
  readonly placer?: string;
}

export function addOrderCommands(program: Command): void {
  const order = program
    .command('order')
    .summary('resume paused orders')
    .description(
      'Manages paused orders. An order is paused if the user who placed it has no role in the workspace. A recurring order is ' +
        'also paused after three rejected payouts in a row, because each costs a fee. The next run is parked; see banking work list --parked.',
    )
    .addHelpText('after', examples('banking order resume 12 --workspace 1'));

  order
    .command('resume')
    .summary('resume a paused order')
    .description(
      'Resumes a paused order. Its missed runs are made up by one run, now. The count of rejected payouts begins again. ' +
        'The order runs for the user who placed it, or for the user of --placer, who needs a role in the workspace. ' +
        'The customer can cancel the order instead.',
    )
    .addArgument(new Argument('<id>', 'id of an order').argParser(parseIdOf<OrderId>))
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(nameOption('--placer <email>', 'user with a role in the workspace who becomes the placer'))
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking order resume 12 --workspace 1',
        'banking order resume 12 --workspace 1 --placer mia@harbour.example',
      ),
    )
    .action(async (orderId: OrderId, options: ResumeOptions) => {
      const { workspace: workspaceId, placer, json } = options;
      await withDeployment(
        async (deployment, config) => {
          const order = { workspaceId, orderId, placer };
          const given = { workspaceId, orderId, placer: await placerAfter(deployment.database, order) };
          const action = { action: 'resumeOrder', arguments: given } as const;
          await bySecondOperator(deployment, config, options, action, ({ database }) =>
            resumePausedOrder(database, order),
          );
        },
        await inCellOf(workspaceId),
      );
      if (json) printJson({ workspaceId, id: orderId });
      else print(`Resumed order ${orderId} of workspace ${workspaceId}. Its next run is due now.`);
    });
}
