import type { OrderId, WorkspaceId } from '@banking/domain';
import { resumePausedOrder } from '@banking/operations';
import { Argument, type Command } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { actorOf, asOption, type ChangeOptions, jsonOption, nameOption, parseIdOf, workspaceOption } from './inputs.js';
import { print, printJson } from './print.js';

interface ResumeOptions extends ChangeOptions {
  readonly workspace: WorkspaceId;
  readonly placer?: string;
}

export function addOrderCommands(program: Command): void {
  const order = program
    .command('order')
    .summary('resume paused orders')
    .description(
      'Orders: one is paused when the user who placed it has no role in the workspace, and a recurring one when three of its payouts ' +
        'in a row were rejected, since each costs a fee. The next run is parked; see banking work list --parked.',
    )
    .addHelpText('after', examples('banking order resume 12 --workspace 1'));

  order
    .command('resume')
    .summary('let a paused order run again')
    .description(
      'Resumes a paused order: what it missed runs once, now. Rejections so far do not pause it again, three more do. ' +
        'It runs for the user who placed it, who needs a role in the workspace, or for the user named by --placer. ' +
        'Its customer can cancel it instead.',
    )
    .addArgument(new Argument('<id>', 'id of an order').argParser(parseIdOf<OrderId>))
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(nameOption('--placer <email>', 'user with a role in the workspace, whose order it is from now on'))
    .addOption(asOption())
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
      await withDeployment(({ database }) =>
        resumePausedOrder(database, actorOf(options), { workspaceId, orderId, placer }),
      );
      if (json) printJson({ workspaceId, id: orderId });
      else print(`Resumed order ${orderId} of workspace ${workspaceId}: what it missed is due now.`);
    });
}
