import { Argument, type Command } from 'commander';
import type { Deployment } from '@banking/deployment';
import type { WorkspaceId } from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { hasRequest, noteOperatorChanges } from '@banking/operations/provisioning';
import {
  type PayoutStop,
  readPayoutStop,
  resumePayouts,
  returnPayout,
  type ReturnPayoutOutcome,
} from '@banking/payouts';
import type { Database } from '@banking/postgres';
import { HOME_CELL } from '@banking/process';
import { readRails } from '@banking/rails';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { inCellOf, onEachCell, verifyBetween } from './each-cell.js';
import { addHeldPayoutsCommands } from './held-payouts.js';
import { examples, jsonOption, nameOption, parseIdOf, refuseLongNote, workspaceOption } from './inputs.js';
import { type ApproveOptions, approveOption, bySecondOperator, RequestStored } from './operator-request.js';
import { print, printJson, Refused, reportProgress, reportRanges } from './print.js';

export function addPayoutsCommands(program: Command): void {
  const payouts = program
    .command('payouts')
    .alias('payout')
    .summary('decide payouts that are held, return one that cannot leave, and resume payouts after a stop')
    .description(
      'Manages payouts. A worker stops all payouts if its verification of the books has a finding. Payouts stay ' +
        'stopped until an operator resumes them, also after a restart. banking work list shows the stop.\n\n' +
        'A payout that no payment network serves waits until one is connected or its money is returned. banking verify lists it.',
    )
    .addHelpText(
      'after',
      examples(
        'banking payout list --held',
        'banking payouts resume',
        'banking payout return 26 --workspace 1 --note "no network serves India"',
      ),
    );

  addPayoutReturnCommand(payouts);
  addHeldPayoutsCommands(payouts);

  payouts
    .command('resume')
    .summary('resume payouts')
    .description(
      'Verifies the books of the workspaces that had findings, and payments between cells, and resumes payouts if they have none, in ' +
        'each database or in that of CELL. Run banking verify first: it verifies all workspaces and prints each finding. Payouts that ' +
        'waited are submitted within five minutes. Outside a sandbox, each database has a request of its own, and --approve is for one.',
    )
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking payouts resume'))
    .action(async (options: ApproveOptions) => {
      const { cells } = readConfig().deployment;
      const resumed = await onEachCell(
        (deployment) =>
          resumeIn(
            deployment,
            options,
            cells?.map(({ name }) => name),
          ),
        {
          readsBooks: true,
        },
      );
      const requests = resumed.results.flatMap(({ result }) => (result && 'requests' in result ? result.requests : []));
      const stops = resumed.results.flatMap(({ cell, result }) =>
        result && 'resumed' in result ? [{ ...(cell && { cell }), ...result }] : [],
      );
      if (options.json && stops.length > 0) printJson(cells === undefined ? stops[0]! : stops);
      else {
        for (const { cell } of stops) {
          print(
            `Payouts${cell === undefined ? '' : ` of the cell ${cell}`} are resumed. Those that waited are submitted within five minutes.`,
          );
        }
      }
      resumed.end();
      if (requests.length > 0) throw new RequestStored(requests, options.json === true);
      if (stops.length === 0) throw new Refused('Payouts are not stopped.');
    });
}

/**
 * @param otherCells the names of the cells besides home, if there are any
 * @returns undefined if payouts of the database are not stopped, or another database has the request
 * @throws Refused if its books or payments between cells still have a finding
 */
async function resumeIn(
  deployment: Deployment,
  options: ApproveOptions,
  otherCells: readonly string[] | undefined,
): Promise<RequestStored | { readonly resumed: number; readonly stoppedAt: string } | undefined> {
  const { database } = deployment;
  const stop = await readPayoutStop(database);
  if (!stop) return undefined;
  const isElsewhere = otherCells !== undefined && options.approve !== undefined;
  if (isElsewhere && !(await hasRequest(database, options.approve))) return undefined;
  await requireProvenBooks(database, stop);
  if (otherCells !== undefined) await requireProvenPayments([HOME_CELL, ...otherCells]);
  const action = { action: 'resumePayouts', arguments: { stopId: stop.id } } as const;
  try {
    const isResumed = await bySecondOperator(deployment, readConfig(), options, action, async (approved) => {
      const provisioning = await approved.openProvisioning();
      return resumePayouts(provisioning, stop.id).finally(() => provisioning.end());
    });
    return isResumed ? { resumed: stop.id, stoppedAt: stop.stoppedAt } : undefined;
  } catch (error) {
    // The other databases come next.
    if (error instanceof RequestStored) return error;
    throw error;
  }
}

/** @throws Refused if the books of a workspace still have a finding */
async function requireProvenBooks(database: Database, { workspaceIds }: PayoutStop): Promise<void> {
  const { findings } = await verifyBooks(database, workspaceIds, {
    onRange: reportRanges(),
    onWorkspace: (id) => reportProgress(`Verified the books of workspace ${id}.`),
  });
  if (findings.length === 0) return;
  const still = [...new Set(findings.map(({ workspaceId }) => workspaceId))].join(', ');
  throw new Refused(
    `The books are not in order in workspace ${still}, so payouts stay stopped. Run banking verify, and repair the books first.`,
  );
}

/** @throws Refused if payments between cells have a finding, or a database does not answer */
async function requireProvenPayments(names: readonly string[]): Promise<void> {
  const { inOrder, failure } = await verifyBetween(names);
  if (inOrder === true) return;
  throw new Refused(
    failure === undefined
      ? 'Payments between cells have findings, so payouts stay stopped. Run banking verify, and repair the books first.'
      : `Payments between cells cannot be verified, so payouts stay stopped: ${failure}`,
  );
}

interface ReturnOptions extends ApproveOptions {
  readonly workspace: WorkspaceId;
  readonly note: string;
}

const OBSTACLES: Readonly<Record<Exclude<ReturnPayoutOutcome, object>, (name: string) => string>> = {
  not_found: (name) => `There is no ${name}. See banking work list.`,
  final: (name) => `The ${name} is completed or failed already. There is nothing to return.`,
  outcome_unknown: (name) =>
    `The ${name} may have been sent, so its money is not returned. Ask the network for its status: see banking work reconcile.`,
};

function addPayoutReturnCommand(payouts: Command): void {
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
    .addOption(approveOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking payout return 26 --workspace 1 --note "no network serves India"'))
    .action(async (transactionId: number, options: ReturnOptions) => {
      const { workspace: workspaceId, note, json } = options;
      refuseLongNote(note);
      const action = { action: 'returnPayout', arguments: { workspaceId, transactionId, note } } as const;
      const outcome = await withDeployment(
        (deployment, config) =>
          bySecondOperator(deployment, config, options, action, ({ database, books }) => {
            const rails = readRails(config.deployment).open(database);
            return returnPayout(books, {
              ...{ workspaceId, transactionId, note, rails },
              noteChanges: noteOperatorChanges,
            });
          }),
        await inCellOf(workspaceId),
      );
      const name = `payout ${transactionId} of workspace ${workspaceId}`;
      if (typeof outcome === 'string') throw new Refused(OBSTACLES[outcome](name));
      if (json) return printJson({ workspaceId, transactionId, ...outcome });
      print(`Returned the ${name} without its fee, by transaction ${outcome.returnId}.`);
    });
}
