import type { OrderId, WorkspaceId } from '@banking/domain';
import { resumeOrder } from '@banking/operations';
import { Argument, type Command } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { jsonOption, parseIdOf, workspaceOption } from './inputs.js';
import { print, printJson } from './print.js';
import { Refused } from './refused.js';

interface ResumeOptions {
  readonly workspace: WorkspaceId;
  readonly json?: boolean;
}

export function addOrderCommands(program: Command): void {
  const order = program
    .command('order')
    .summary('resume paused orders')
    .description(
      'Orders: a recurring one is paused when three of its payouts in a row were rejected, since each costs a fee. ' +
        'Its next run is parked; see banking work list --parked.',
    )
    .addHelpText('after', examples('banking order resume 12 --workspace 1'));

  order
    .command('resume')
    .summary('let a paused order run again')
    .description(
      'Resumes a paused order: what it missed runs once, now. Rejections so far do not pause it again, three more do. ' +
        'Its customer can cancel it instead.',
    )
    .addArgument(new Argument('<id>', 'id of an order').argParser(parseIdOf<OrderId>))
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking order resume 12 --workspace 1'))
    .action(async (orderId: OrderId, { workspace: workspaceId, json }: ResumeOptions) => {
      const outcome = await withDeployment(({ database }) => resumeOrder(database, { workspaceId, orderId }));
      const name = `order ${orderId} of workspace ${workspaceId}`;
      if (outcome === 'not_found') throw new Refused(`There is no ${name}.`);
      if (outcome === 'not_paused') throw new Refused(`The ${name} is not paused.`);
      if (json) printJson({ workspaceId, id: orderId });
      else print(`Resumed ${name}: what it missed is due now.`);
    });
}
