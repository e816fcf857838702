import type { WorkspaceId } from '@banking/domain';
import { type AnchorSigner, readEnds, writeAnchor } from '@banking/books-proof';
import { allWorkspaces } from '@banking/operations/provisioning';
import { HOME_CELL } from '@banking/process';
import { type Command, Option } from 'commander';
import { withDeployment } from './deployment.js';
import { inCellOf, onEachCell } from './each-cell.js';
import { examples } from './help.js';
import { lookupOption, workspaceOption } from './inputs.js';
import { publicKeyOf, signerOf } from './key-files.js';
import { createFile } from './new-file.js';
import { print, reportProgress } from './print.js';
import { Refused } from './refused.js';
import { signingCommand } from './sign-command.js';
import { toStandardOutput, unlessPipeClosed } from './standard-output.js';
import { chosenWorkspaces } from './workspaces.js';

interface AnchorOptions {
  readonly key?: string;
  readonly signCommand?: string;
  readonly publicKey?: string;
  readonly workspace?: WorkspaceId;
  readonly out?: string;
}

export function addAnchorCommand(program: Command): void {
  program
    .command('anchor')
    .summary('write a signed statement of the heads of all accounts')
    .description(
      'Writes the latest hash of every customer account and of every audit trail, signed with an Ed25519 key. Keep the file where no operator of the ' +
        'database can change it. banking prove --since and banking verify --since show later that nothing before it was changed or cut.\n\n' +
        'The heads of a workspace are of one instant. Of several databases, all are read, or the one of CELL. Changes nothing and may run beside the service. An existing file is not replaced.',
    )
    .addOption(
      lookupOption('--key <file>', 'Ed25519 private key in PEM, accessible to its owner only').conflicts('signCommand'),
    )
    .addOption(
      new Option(
        '--sign-command <command>',
        'shell command that reads the statement and writes its signature; needs --public-key',
      ),
    )
    .addOption(lookupOption('--public-key <file>', 'Ed25519 public key in PEM, of the sign command').conflicts('key'))
    .addOption(workspaceOption('only this workspace (all)'))
    .addOption(lookupOption('--out <file>', 'new file, readable by its owner only (standard output)'))
    .addHelpText(
      'after',
      examples(
        'openssl genpkey -algorithm ed25519 -out anchor.key && chmod 600 anchor.key',
        'openssl pkey -in anchor.key -pubout -out anchor.pub',
        'banking anchor --key anchor.key --out anchor.jsonl',
        'banking anchor --sign-command ./sign.sh --public-key anchor.pub --out anchor.jsonl',
      ),
    )
    .action(async (options: AnchorOptions, command: Command) => {
      const signer = await chosenSigner(options, command);
      const { out, workspace } = options;
      if (out !== undefined) return print(await createFile(out, (write) => anchored(workspace, signer, write)));
      reportProgress(await anchored(workspace, signer, toStandardOutput).catch(unlessPipeClosed));
    });
}

async function chosenSigner({ key, signCommand, publicKey }: AnchorOptions, command: Command): Promise<AnchorSigner> {
  if (key !== undefined) return signerOf(key);
  if (signCommand === undefined) return command.error('error: name a key with --key, or a command with --sign-command');
  if (publicKey === undefined) return command.error('error: --sign-command needs --public-key');
  return signingCommand(signCommand, await publicKeyOf(publicKey));
}

/** Databases are read one after the other. @throws Refused if a workspace was moved meanwhile, and is in two of them or in none */
async function requireEachOnce(ids: readonly number[]): Promise<void> {
  const read = new Set(ids);
  const all = await withDeployment(({ database }) => allWorkspaces(database), {
    changesNothing: true,
    cell: HOME_CELL,
  });
  if (read.size === ids.length && all.every(({ id }) => read.has(id))) return;
  throw new Refused('A workspace was moved meanwhile, so the anchor would not have each once. Write it again.');
}

/** @returns the report of the anchor, a sentence */
async function anchored(
  workspaceId: WorkspaceId | undefined,
  signer: AnchorSigner,
  write: (text: string) => Promise<void>,
): Promise<string> {
  const use = { changesNothing: true, readsBooks: true, ...(await inCellOf(workspaceId)) };
  const read = await onEachCell(async ({ database }) => {
    const workspaces = await chosenWorkspaces(database, workspaceId);
    return readEnds(
      database,
      workspaces.map(({ id }) => id),
    );
  }, use);
  // An anchor without a database would prove nothing of its workspaces.
  read.end();
  const ends = read.results.map(({ result }) => result);
  if (ends.length > 1) await requireEachOnce(ends.flatMap(({ workspaces: found }) => found.map(({ id }) => id)));
  const { anchoredAt, workspaces, accounts, keyId } = await writeAnchor(ends, signer, write);
  return `Wrote the heads of ${workspaces} workspaces as of ${anchoredAt}: ${accounts} accounts, signed with key ${keyId}.`;
}
