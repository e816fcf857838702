import { Argument, type Command } from 'commander';
import type { Deployment } from '@banking/deployment';
import { type WorkspaceId } from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { hasRequest, noteOperatorChanges } from '@banking/operations/provisioning';
import {
  type PayoutStop,
  readPayoutStop,
  resumePayouts,
  returnPayout,
  type ReturnPayoutOutcome,
  decideHeldPayout,
  type DecideOutcome,
  endDecisionDemand,
  listHeldPayouts,
  readDecisionDemand,
} from '@banking/payouts';
import type { Database } from '@banking/postgres';
import { HOME_CELL } from '@banking/process';
import { readRails } from '@banking/rails';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { type CellResults, inCellOf, onEachCell, printRows, verifyBetween } from './each-cell.js';
import { examples, jsonOption, nameOption, parseIdOf, refuseLongNote, workspaceOption } from './inputs.js';
import { type ApproveOptions, approveOption, bySecondOperator, RequestStored } from './operators.js';
import { print, printJson, Refused, reportProgress, reportRanges, shownMoney } from './print.js';
import { chosenWorkspaces } from './workspaces.js';

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
        'banking payout list',
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
      const { requests, done: stops } = outcomesOf(resumed);
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
  return bySecondOperator(deployment, readConfig(), options, action, async (approved) => {
    const provisioning = await approved.openProvisioning();
    const isResumed = await resumePayouts(provisioning, stop.id).finally(() => provisioning.end());
    return isResumed ? { resumed: stop.id, stoppedAt: stop.stoppedAt } : undefined;
  }).catch(storedRequest);
}

/** The request of a database. The other databases come next. */
function storedRequest(error: unknown): RequestStored {
  if (error instanceof RequestStored) return error;
  throw error;
}

/** The requests of databases, and what was done in others. */
function outcomesOf<T extends object>({ results }: CellResults<RequestStored | T | undefined>) {
  const requests = results.flatMap(({ result }) => (result instanceof RequestStored ? result.requests : []));
  const done = results.flatMap(({ cell, result }) =>
    result === undefined || result instanceof RequestStored ? [] : [{ ...(cell && { cell }), ...result }],
  );
  return { requests, done };
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

const NOT_RETURNED: Readonly<Record<Exclude<ReturnPayoutOutcome, object>, (name: string) => string>> = {
  not_found: (name) => `There is no ${name}. See banking work list.`,
  final: (name) => `The ${name} is completed or failed already. There is nothing to return.`,
  outcome_unknown: (name) =>
    `The ${name} may have been sent, so its money is not returned: its network has it or was not asked, or a worker sends it. ` +
    'See banking work list.',
};

function addPayoutReturnCommand(payouts: Command): void {
  payouts
    .command('return')
    .summary('return the money of a payout that cannot leave')
    .description(
      'Returns the money of a payout that its network does not have, such as one that no payment network serves, or that was parked ' +
        'because its network refused it: the full debit without the fee, as a new, linked transaction. The payout and its transaction ' +
        'fail.\n\n' +
        'Asks the network first. It is refused if the payout is completed or failed, and if it may have been sent: if the network has it ' +
        'or had it, and once a worker has begun to send it, until it is parked.',
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
            const rails = readRails(config.deployment, 'payouts').open(database);
            return returnPayout(books, {
              ...{ workspaceId, transactionId, note, rails },
              noteChanges: noteOperatorChanges,
            });
          }),
        await inCellOf(workspaceId),
      );
      const name = `payout ${transactionId} of workspace ${workspaceId}`;
      if (typeof outcome === 'string') throw new Refused(NOT_RETURNED[outcome](name));
      if (json) return printJson({ workspaceId, transactionId, ...outcome });
      print(`Returned the ${name} without its fee, by transaction ${outcome.returnId}.`);
    });
}

interface ListOptions {
  readonly workspace?: WorkspaceId;
  readonly json?: boolean;
}

interface DecideOptions extends ApproveOptions {
  readonly workspace: WorkspaceId;
  readonly note: string;
}

/** The commands for payouts that wait for a decision. */
function addHeldPayoutsCommands(payouts: Command): void {
  payouts
    .command('list')
    .summary('list payouts that wait for a decision')
    .description(
      'Lists payouts that the decision hook holds or has not decided, the oldest first, at most 100. Of several databases, all are ' +
        'listed, or the one of CELL. banking work list shows all other open payouts.',
    )
    .option('--held', 'payouts that wait for a decision: the default')
    .addOption(workspaceOption('only this workspace'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking payout list'))
    .action(listHeld);

  addDecisionCommand(payouts, 'approve', {
    name: 'release',
    summary: 'release a payout that waits for a decision',
    description:
      'Approves a payout that the decision hook holds or has not decided. A worker submits it to its network.',
    note: 'checked with the customer',
    done: (payout) => `Released the ${payout}. A worker submits it now.`,
  });
  addDecisionCommand(payouts, 'reject', {
    name: 'reject',
    summary: 'reject a payout that waits for a decision',
    description:
      'Rejects a payout that the decision hook holds or has not decided. A worker returns the full debit without the fee, as after a ' +
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
  const results = read.results.map(({ cell, result }) => ({ cell, result: result.payouts }));
  printRows({ ...read, results }, json, {
    head: ['Transaction', 'Workspace', 'Account', 'Amount', 'Rail', 'Since', 'Held by', 'Reason'],
    cells: ({ transactionId, workspaceId, accountId, amount, currencyCode, ...row }) => [
      ...[transactionId, workspaceId, accountId],
      ...[shownMoney(amount, currencyCode), row.rail, row.createdAt],
      ...[row.heldAt === undefined ? 'no decision' : 'the hook', row.reason ?? ''],
    ],
    none: 'No payout waits for a decision.',
    hasMore: read.results.some(({ result }) => result.hasMore),
  });
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

const NOT_DECIDED: Readonly<Record<Exclude<DecideOutcome, 'decided'>, (name: string) => string>> = {
  not_found: (name) => `There is no ${name}. See banking payout list.`,
  final: (name) => `The ${name} is completed or failed already. There is nothing to decide.`,
  not_held: (name) => `The ${name} does not wait for a decision. See banking payout list.`,
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
      new Argument('<transaction>', 'id of the transaction; see banking payout list').argParser(parseIdOf<number>),
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
      if (outcome !== 'decided') throw new Refused(NOT_DECIDED[outcome](payout));
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
  const { requests, done: ends } = outcomesOf(ended);
  if (json && ends.length > 0) printJson(ends);
  else if (ends.length > 0) print('New payouts need no decision. Decide those that wait: banking payout list.');
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
  return bySecondOperator(deployment, readConfig(), options, action, async (approved) => {
    const provisioning = await approved.openProvisioning();
    return endDecisionDemand(provisioning, demand.id, note).finally(() => provisioning.end());
  }).catch(storedRequest);
}
