import { spawn } from 'node:child_process';
import { type KeyObject, verify } from 'node:crypto';
import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { type AnchorSigner, keyIdOf, readEnds, readPublicKey, signerWith, writeAnchor } from '@banking/books-proof';
import type { WorkspaceId } from '@banking/domain';
import { allWorkspaces } from '@banking/operations/provisioning';
import { HOME_CELL } from '@banking/process';
import { withDeployment } from './deployment.js';
import { inCellOf, onEachCell } from './each-cell.js';
import { examples, lookupOption, workspaceOption } from './inputs.js';
import { createFile, print, Refused, reportProgress, toStandardOutput, unlessPipeClosed } from './print.js';
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

/** A key in PEM takes some hundred bytes. */
const MAX_BYTES = 16_384;

/** @throws Refused if the file cannot be read, or contains no Ed25519 public key */
export async function publicKeyOf(file: string): Promise<KeyObject> {
  const { text } = await contentOf(file);
  const key = readPublicKey(text);
  if (!key) throw new Refused(`The file ${file} contains no Ed25519 public key in PEM.`);
  return key;
}

/** @throws Refused if the file cannot be read, is accessible to others, or contains no Ed25519 private key */
async function signerOf(file: string): Promise<AnchorSigner> {
  const { text, mode } = await contentOf(file);
  if ((mode & 0o077) !== 0) {
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    throw new Refused(
      `The key ${file} is accessible to others than its owner (mode ${octal}). Run chmod 600 on it, or make a new key.`,
    );
  }
  const signer = signerWith(text);
  if (!signer) throw new Refused(`The file ${file} contains no Ed25519 private key in PEM without a passphrase.`);
  return signer;
}

async function contentOf(file: string): Promise<{ readonly text: string; readonly mode: number }> {
  const handle = await open(file).catch((error: Error) => {
    throw new Refused(`The file ${file} cannot be read: ${error.message}.`);
  });
  try {
    const about = await handle.stat();
    if (!about.isFile() || about.size > MAX_BYTES) throw new Refused(`The file ${file} is not a key in PEM.`);
    return { text: await handle.readFile('utf8'), mode: about.mode };
  } finally {
    await handle.close();
  }
}

const SIGNATURE_BYTES = 64;

/**
 * A signer that runs a shell command, such as one that calls a key management service. The command reads the statement from standard
 * input, and writes the signature to standard output: 64 bytes, or their base64. Its standard error is that of this process.
 */
function signingCommand(command: string, publicKey: KeyObject): AnchorSigner {
  return {
    keyId: keyIdOf(publicKey),
    sign: async (text) => {
      const signature = decoded(await outputOf(command, text));
      if (!signature || !verify(null, Buffer.from(text), publicKey, signature)) {
        throw new Refused(
          'The sign command returned no Ed25519 signature of the statement by the key of --public-key.',
        );
      }
      return signature;
    },
  };
}

async function outputOf(command: string, input: string): Promise<Buffer> {
  const child = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<string | undefined>((done) => {
    child.once('error', (error) => done(error.message));
    child.once('close', (code, signal) => done(code === 0 ? undefined : `it ended with ${code ?? signal}`));
  });
  // A command that does not read its input closes the pipe early. Its result is judged by its exit code and its output.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [output, failure] = await Promise.all([buffer(child.stdout), ended]);
  if (failure !== undefined) throw new Refused(`The sign command failed: ${failure}.`);
  return output;
}

function decoded(output: Buffer): Buffer | undefined {
  if (output.length === SIGNATURE_BYTES) return output;
  const bytes = Buffer.from(output.toString('latin1').trim(), 'base64');
  return bytes.length === SIGNATURE_BYTES ? bytes : undefined;
}
