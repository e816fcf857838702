import { minorUnits, type WorkspaceId } from '@banking/domain';
import { listDiscrepancies, resolveDiscrepancy, type Resolution } from '@banking/payouts';
import { Argument, type Command, Option } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { actorOf, asOption, type ChangeOptions, jsonOption, nameOption, parseIdOf, workspaceOption } from './inputs.js';
import { print, printJson, printTable } from './print.js';
import { Refused } from './refused.js';
import { shownAmount } from './shown-amount.js';
import { chosenWorkspaces } from './workspaces.js';

interface ListOptions {
  readonly workspace?: WorkspaceId;
  readonly all?: boolean;
  readonly json?: boolean;
}

interface ResolveOptions extends ChangeOptions {
  readonly workspace: WorkspaceId;
  readonly return?: boolean;
  readonly reclaim?: boolean;
  readonly dismiss?: boolean;
  readonly note?: string;
}

const NOTE_MAX = 500;
const DONE: Readonly<Record<Resolution, string>> = {
  returned: 'the customer has the money back',
  reclaimed: 'the money was taken again',
  dismissed: 'no money was moved',
};

export function addDiscrepancyCommands(program: Command): void {
  const discrepancy = program
    .command('discrepancy')
    .summary('list and resolve contradictory final statuses')
    .description(
      'Discrepancies: a payout was credited and then rejected, rejected and then credited, or one event id arrived ' +
        'with two statuses. The first final status has moved the money; ask the network which one is true.',
    )
    .addHelpText(
      'after',
      examples('banking discrepancy list', 'banking discrepancy resolve 1 --workspace 1 --return --note "ticket 4711"'),
    );

  discrepancy
    .command('list')
    .summary('list the discrepancies that are open')
    .description(
      'Lists the discrepancies that are open, the oldest first, with every event of their payout. At most 100.',
    )
    .addOption(workspaceOption('only those of this workspace'))
    .addOption(new Option('--all', 'also those that are resolved'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking discrepancy list', 'banking discrepancy list --all --json'))
    .action(async ({ workspace, all, json }: ListOptions) => {
      const list = await withDeployment(
        async ({ database }) => {
          const ids = (await chosenWorkspaces(database, workspace)).map(({ id }) => id);
          return listDiscrepancies(database, ids, { includesResolved: all === true });
        },
        { changesNothing: true },
      );
      if (json) return printJson(list);
      printTable(
        ['Id', 'Workspace', 'Transaction', 'Account', 'Amount', 'Kind', 'Opened', 'Events', 'Resolution'],
        list.map(
          ({ id, workspaceId, transactionId, accountId, amount, currencyCode, kind, openedAt, events, resolution }) => [
            ...[id, workspaceId, transactionId, accountId],
            ...[`${shownAmount(minorUnits(BigInt(amount)), currencyCode)} ${currencyCode}`, kind, openedAt],
            ...[
              events.map(({ status, reasonCode }) => `${status} ${reasonCode ?? ''}`.trim()).join(', '),
              resolution ?? '',
            ],
          ],
        ),
        all ? 'There are no discrepancies.' : 'No discrepancy is open.',
      );
    });

  discrepancy
    .command('resolve')
    .summary('resolve a discrepancy, once')
    .description(
      'Resolves a discrepancy, once. The money moves by a new, linked transaction; what is booked stays as it is.\n\n' +
        'Where the money is gone, --return gives it back to the customer, without the fee. Where it is back, --reclaim ' +
        'takes it from the account again; it is refused while the account does not hold it. --dismiss moves no money.',
    )
    .addArgument(new Argument('<id>', 'id of a discrepancy; see banking discrepancy list').argParser(parseIdOf<number>))
    .addOption(workspaceOption('id of its workspace').makeOptionMandatory())
    .addOption(new Option('--return', 'give the money back to the customer').conflicts(['reclaim', 'dismiss']))
    .addOption(new Option('--reclaim', 'take the returned money again').conflicts(['return', 'dismiss']))
    .addOption(new Option('--dismiss', 'close it without moving money; needs a note').conflicts(['return', 'reclaim']))
    .addOption(nameOption('--note <text>', 'why; kept with the resolution'))
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking discrepancy resolve 1 --workspace 1 --return',
        'banking discrepancy resolve 2 --workspace 1 --reclaim --note "credited, says the bank"',
        'banking discrepancy resolve 3 --workspace 1 --dismiss --note "sent by mistake"',
      ),
    )
    .action(async (discrepancyId: number, options: ResolveOptions) => {
      const { workspace: workspaceId, note, json } = options;
      const resolution = resolutionOf(options);
      const resolving = { workspaceId, discrepancyId, resolution, by: actorOf(options), note };
      const outcome = await withDeployment(({ books }) => resolveDiscrepancy(books, resolving));
      const name = `discrepancy ${discrepancyId} of workspace ${workspaceId}`;
      if (outcome === 'not_found') throw new Refused(`There is no ${name}. See banking discrepancy list.`);
      if (outcome === 'already_resolved')
        throw new Refused(`The ${name} is resolved. See banking discrepancy list --all.`);
      if (outcome === 'not_applicable') {
        throw new Refused(
          `The ${name} cannot be ${resolution}: its kind or where its money is does not fit. See banking discrepancy resolve --help.`,
        );
      }
      const { transactionId } = outcome;
      if (json) return printJson({ workspaceId, id: discrepancyId, resolution, transactionId });
      const by = transactionId === undefined ? '' : `, by transaction ${transactionId}`;
      print(`Resolved ${name}: ${DONE[resolution]}${by}.`);
    });
}

function resolutionOf({ return: gives, reclaim, dismiss, note }: ResolveOptions): Resolution {
  if (note !== undefined && note.length > NOTE_MAX) throw new Refused(`A note has at most ${NOTE_MAX} characters.`);
  if (dismiss && note === undefined) throw new Refused('Say with --note why the discrepancy is dismissed.');
  if (gives) return 'returned';
  if (reclaim) return 'reclaimed';
  if (dismiss) return 'dismissed';
  throw new Refused('Say how to resolve it: --return, --reclaim or --dismiss.');
}
