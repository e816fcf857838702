import type { WorkspaceId } from '@banking/domain';
import { notesOf } from '@banking/operations/provisioning';
import { returnPayout, type ReturnPayoutOutcome, SandboxRail } from '@banking/payouts';
import { Argument, type Command } from 'commander';
import { withDeployment } from './deployment.js';
import { inCellOf } from './each-cell.js';
import { examples } from './help.js';
import {
  asOption,
  type ChangeOptions,
  jsonOption,
  nameOption,
  operatorOf,
  parseIdOf,
  refuseLongNote,
  workspaceOption,
} from './inputs.js';
import { print, printJson } from './print.js';
import { Refused } from './refused.js';

interface ReturnOptions extends ChangeOptions {
  readonly workspace: WorkspaceId;
  readonly note: string;
}

const OBSTACLES: Readonly<Record<Exclude<ReturnPayoutOutcome, object>, (name: string) => string>> = {
  not_found: (name) => `There is no ${name}. See banking work list.`,
  final: (name) => `The ${name} is completed or failed already. There is nothing to return.`,
  outcome_unknown: (name) =>
    `The ${name} may have been sent, so its money is not returned. Ask the network for its status: see banking work reconcile.`,
};

/** Adds `banking payout return`. */
export function addPayoutReturnCommand(payouts: Command): void {
  payouts
    .command('return')
    .summary('return the money of a payout that cannot leave')
    .description(
      'Returns the money of a payout that was never sent, such as one that no payment network serves: the full debit without the fee, ' +
        'as a new, linked transaction. The payout and its transaction fail.\n\n' +
        'It is refused if the payout is completed or failed, and if it may have been sent: once a worker has begun to send it, or if the ' +
        'network has it.',
    )
    .addArgument(
      new Argument('<transaction>', 'id of the transaction; see banking verify').argParser(parseIdOf<number>),
    )
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(nameOption('--note <text>', 'reason, stored with the payout').makeOptionMandatory())
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking payout return 26 --workspace 1 --note "no network serves India"'))
    .action(async (transactionId: number, options: ReturnOptions) => {
      const { workspace: workspaceId, note, json } = options;
      refuseLongNote(note);
      const noteChanges = notesOf(operatorOf(options));
      const outcome = await withDeployment(
        ({ database, books }, { deployment: { isSandbox } }) => {
          const rail = isSandbox ? new SandboxRail(database) : undefined;
          return returnPayout(books, { workspaceId, transactionId, note, rail, noteChanges });
        },
        await inCellOf(workspaceId),
      );
      const name = `payout ${transactionId} of workspace ${workspaceId}`;
      if (typeof outcome === 'string') throw new Refused(OBSTACLES[outcome](name));
      if (json) return printJson({ workspaceId, transactionId, ...outcome });
      print(`Returned the ${name} without its fee, by transaction ${outcome.returnId}.`);
    });
}
