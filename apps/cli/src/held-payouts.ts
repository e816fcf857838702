import { Argument, type Command, Option } from 'commander';
import { minorUnits, type WorkspaceId } from '@banking/domain';
import { hasRequest, noteOperatorChanges } from '@banking/operations/provisioning';
import type { Deployment } from '@banking/deployment';
import {
  decideHeldPayout,
  type DecideOutcome,
  endDecisionDemand,
  listHeldPayouts,
  readDecisionDemand,
} from '@banking/payouts';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { cellHead, inCellOf, onEachCell, rowsOf } from './each-cell.js';
import { examples, jsonOption, nameOption, parseIdOf, refuseLongNote, workspaceOption } from './inputs.js';
import { type ApproveOptions, approveOption, bySecondOperator, RequestStored } from './operator-request.js';
import { print, printJson, printTable, Refused, shownAmount } from './print.js';
import { chosenWorkspaces } from './workspaces.js';

interface ListOptions {
  readonly workspace?: WorkspaceId;
  readonly json?: boolean;
}

interface DecideOptions extends ApproveOptions {
  readonly workspace: WorkspaceId;
  readonly note: string;
}

/** The commands for payouts that wait for a decision. */
export function addHeldPayoutsCommands(payouts: Command): void {
  payouts
    .command('list')
    .summary('list payouts that wait for a decision')
    .description(
      'Lists payouts that the decision hook holds or has not answered for, the oldest first, at most 100. Of several databases, all are ' +
        'listed, or the one of CELL. banking work list shows all other open payouts.',
    )
    .addOption(new Option('--held', 'payouts that wait for a decision').makeOptionMandatory())
    .addOption(workspaceOption('only this workspace'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking payout list --held'))
    .action(listHeld);

  addDecisionCommand(payouts, 'approve', {
    name: 'release',
    summary: 'release a payout that waits for a decision',
    description:
      'Approves a payout that the decision hook holds or has not answered for. A worker submits it to its network.',
    note: 'checked with the customer',
    done: (payout) => `Released the ${payout}. A worker submits it now.`,
  });
  addDecisionCommand(payouts, 'reject', {
    name: 'reject',
    summary: 'reject a payout that waits for a decision',
    description:
      'Rejects a payout that the decision hook holds or has not answered for. A worker returns the full debit without the fee, as after a ' +
      'rejection by the network. The customer does not see the note.',
    note: 'ticket 4711',
    done: (payout) => `Rejected the ${payout}. A worker returns its money now.`,
  });

  payouts
    .command('end-decisions')
    .summary('make payouts without decisions again')
    .description(
      'Ends the demand for decisions, after DECISION_URL was removed from every process: payouts that are made from now on need none. ' +
        'Payouts that wait for a decision still need one: release or reject them. A process with DECISION_URL demands decisions again.',
    )
    .addOption(nameOption('--note <text>', 'reason, stored with the end').makeOptionMandatory())
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking payout end-decisions --note "the hook is retired"'))
    .action(endDecisions);
}

async function listHeld({ workspace, json }: ListOptions): Promise<void> {
  const read = await onEachCell(
    async ({ database }) =>
      listHeldPayouts(
        database,
        (await chosenWorkspaces(database, workspace)).map(({ id }) => id),
      ),
    { changesNothing: true, ...(await inCellOf(workspace)) },
  );
  const list = rowsOf(read);
  if (json) printJson(list);
  else {
    printTable(
      [...cellHead(read), 'Transaction', 'Workspace', 'Account', 'Amount', 'Rail', 'Since', 'Held by', 'Reason'],
      list.map(({ cell, transactionId, workspaceId, accountId, amount, currencyCode, ...row }) => [
        ...(cell === undefined ? [] : [cell]),
        ...[transactionId, workspaceId, accountId],
        ...[`${shownAmount(minorUnits(BigInt(amount)), currencyCode)} ${currencyCode}`, row.rail, row.createdAt],
        ...[row.heldAt === undefined ? 'no answer' : 'the hook', row.reason ?? ''],
      ]),
      'No payout waits for a decision.',
    );
  }
  read.end();
}

interface DecisionCommand {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  /** Of the example. */
  readonly note: string;
  readonly done: (payout: string) => string;
}

const OBSTACLES: Readonly<Record<Exclude<DecideOutcome, 'decided'>, (name: string) => string>> = {
  not_found: (name) => `There is no ${name}. See banking payout list --held.`,
  final: (name) => `The ${name} is completed or failed already. There is nothing to decide.`,
  not_held: (name) => `The ${name} does not wait for a decision. See banking payout list --held.`,
};

function addDecisionCommand(
  payouts: Command,
  decision: 'approve' | 'reject',
  { name, summary, description, note: exampleNote, done }: DecisionCommand,
): void {
  payouts
    .command(name)
    .summary(summary)
    .description(description)
    .addArgument(
      new Argument('<transaction>', 'id of the transaction; see banking payout list --held').argParser(
        parseIdOf<number>,
      ),
    )
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(nameOption('--note <text>', 'reason, stored with the decision').makeOptionMandatory())
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText('after', examples(`banking payout ${name} 26 --workspace 1 --note "${exampleNote}"`))
    .action(async (transactionId: number, options: DecideOptions) => {
      const { workspace: workspaceId, note, json } = options;
      refuseLongNote(note);
      const given = { workspaceId, transactionId, note };
      const action = { action: decision === 'approve' ? 'releasePayout' : 'rejectPayout', arguments: given } as const;
      const outcome = await withDeployment(
        (deployment, config) =>
          bySecondOperator(deployment, config, options, action, ({ database }) =>
            decideHeldPayout(database, { ...given, decision, noteChanges: noteOperatorChanges }),
          ),
        await inCellOf(workspaceId),
      );
      const payout = `payout ${transactionId} of workspace ${workspaceId}`;
      if (outcome !== 'decided') throw new Refused(OBSTACLES[outcome](payout));
      if (json) return printJson({ workspaceId, transactionId, decision });
      print(done(payout));
    });
}

type EndOptions = ApproveOptions & Pick<DecideOptions, 'note'>;

async function endDecisions(options: EndOptions): Promise<void> {
  const { note, json } = options;
  refuseLongNote(note);
  const { cells } = readConfig().deployment;
  const ended = await onEachCell((deployment) => endIn(deployment, options, cells !== undefined));
  const requests = ended.results.flatMap(({ result }) => (result && 'requests' in result ? result.requests : []));
  const ends = ended.results.flatMap(({ cell, result }) =>
    result && 'demandedAt' in result ? [{ ...(cell && { cell }), ...result }] : [],
  );
  if (json && ends.length > 0) printJson(ends);
  else if (ends.length > 0) print('New payouts need no decision. Decide those that wait: banking payout list --held.');
  ended.end();
  if (requests.length > 0) throw new RequestStored(requests, json === true);
  if (ends.length === 0) throw new Refused('Decisions are not demanded.');
}

/**
 * @param hasOthers whether there are several databases, of which one has the request
 * @returns undefined if the database demands no decisions, or another one has the request
 */
async function endIn(
  deployment: Deployment,
  options: EndOptions,
  hasOthers: boolean,
): Promise<RequestStored | { readonly demandedAt: string } | undefined> {
  const { approve, note } = options;
  const reading = await deployment.openProvisioning();
  const demand = await readDecisionDemand(reading).finally(() => reading.end());
  if (!demand) return undefined;
  if (hasOthers && approve !== undefined && !(await hasRequest(deployment.database, approve))) return undefined;
  const action = { action: 'endDecisions', arguments: { demandId: demand.id, note } } as const;
  try {
    return await bySecondOperator(deployment, readConfig(), options, action, async (approved) => {
      const provisioning = await approved.openProvisioning();
      return endDecisionDemand(provisioning, demand.id, note).finally(() => provisioning.end());
    });
  } catch (error) {
    // The other databases come next.
    if (error instanceof RequestStored) return error;
    throw error;
  }
}
