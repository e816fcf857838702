import type { MinorUnits } from './amount.js';
import type { ExportedAccount, ExportedTransaction, ExportEnd, ExportHeader } from './export-lines.js';
import { LineFault, readExportLine } from './read-export-line.js';
import type { Timestamp } from './timestamp.js';
import { transactionHash, type TransferContent } from './transaction-hash.js';

/** Longer than any line an export has; one that is longer is refused unread. Characters. */
export const LINE_LENGTH_MAX = 1_000_000;

/** What an export proved to be. */
export interface ExportProof {
  readonly workspace: { readonly id: number; readonly name: string };
  readonly exportedAt: Timestamp;
  /** In the order of the export. Compare a head with the hash of a transaction you have seen elsewhere. */
  readonly accounts: readonly ProvenAccount[];
  readonly transactions: number;
  readonly transfers: number;
}

export interface ProvenAccount {
  readonly id: number;
  readonly kind: string;
  readonly currencyCode: string;
  /** The sum of its transfers, credits less debits. */
  readonly balance: MinorUnits;
  readonly version: number;
  /** The hash its chain ends with, re-computed; `''` for an account without one. */
  readonly head: string;
}

/** Why an export proves nothing: the first line at fault, counted from 1, and what is wrong with it. */
export class ExportFault extends Error {
  override readonly name = 'ExportFault';

  constructor(
    readonly line: number,
    readonly problem: string,
  ) {
    super(`line ${line} ${problem}`);
  }
}

/**
 * Proves the books in an export from its lines alone, as `banking export` wrote them: nothing is taken from the bank but the text.
 *
 * In every transaction debits equal credits in each currency, and its hash is that of its content; on every customer's account
 * versions run without a gap, each balance continues the one before, and each transaction carries the hash of the one before; every
 * account ends with the balance, the version and the head that were claimed for it; nothing is missing and nothing follows the end.
 *
 * Not covered by any hash, so taken as they stand: name and time of the header, the kind of an account, and status and times of a
 * transaction. And a file that was made up from beginning to end is in order too: whose books these are you know by a hash of theirs
 * that you had before.
 *
 * Keeps one entry an account in memory, whatever the number of transactions. At home in a browser.
 *
 * @param lines without their line feeds; `linesOf` makes them of bytes.
 * @throws ExportFault
 */
export async function proveExport(lines: AsyncIterable<string> | Iterable<string>): Promise<ExportProof> {
  const replay = new Replay();
  let count = 0;
  try {
    for await (const line of lines) {
      count += 1;
      await replay.take(line);
    }
    count += 1;
    return replay.proof();
  } catch (error) {
    throw error instanceof LineFault ? new ExportFault(count, error.message) : error;
  }
}

/** An account as the transactions so far left it. */
interface Chain {
  readonly claimed: ExportedAccount;
  balance: bigint;
  version: number;
  head: string;
}

class Replay {
  private header: ExportHeader | undefined;
  private readonly chains = new Map<number, Chain>();
  private transactions = 0;
  private transfers = 0;
  private end: ExportEnd | undefined;

  async take(text: string): Promise<void> {
    if (text.length > LINE_LENGTH_MAX) throw new LineFault(`has more than ${LINE_LENGTH_MAX} characters`);
    if (this.end) throw new LineFault('follows the end of the export');
    const line = readExportLine(text);
    if (this.header === undefined) {
      if (!('header' in line)) throw new LineFault('is no header, and an export begins with one');
      this.header = line.header;
    } else if ('account' in line) this.takeAccount(line.account);
    else if ('transaction' in line) await this.takeTransaction(line.transaction, this.header.workspace.id);
    else if ('end' in line) this.takeEnd(line.end, this.header);
    else throw new LineFault('is a second header');
  }

  /** @throws LineFault when the end has not come */
  proof(): ExportProof {
    if (!this.header || !this.end) throw new LineFault('is missing: the export was cut short');
    const { workspace, exportedAt } = this.header;
    return {
      workspace,
      exportedAt,
      accounts: Array.from(this.chains.values(), ({ claimed: { id, kind, currencyCode }, balance, version, head }) => ({
        ...{ id, kind, currencyCode, version, head },
        balance: balance as MinorUnits,
      })),
      transactions: this.transactions,
      transfers: this.transfers,
    };
  }

  private takeAccount(claimed: ExportedAccount): void {
    if (this.transactions > 0) throw new LineFault(`has account ${claimed.id} behind transactions`);
    if (this.chains.has(claimed.id)) throw new LineFault(`has account ${claimed.id} a second time`);
    this.chains.set(claimed.id, { claimed, balance: 0n, version: 0, head: '' });
  }

  private async takeTransaction({ content, hash }: ExportedTransaction, workspaceId: number): Promise<void> {
    const { transactionId, transfers, previous } = content;
    const name = `transaction ${transactionId}`;
    if (content.workspaceId !== workspaceId) throw new LineFault(`has ${name} of another workspace`);
    expectBalanced(name, transfers);

    const touched = new Map<number, Chain>();
    for (const transfer of inVersionOrder(transfers)) {
      const chain = this.chains.get(transfer.accountId);
      if (!chain) throw new LineFault(`has ${name} on account ${transfer.accountId}, which is not in the export`);
      if (isOnChain(chain, transfer)) touched.set(transfer.accountId, chain);
      move(chain, transfer);
    }

    const links = new Map(previous.map((link) => [link.accountId, link.hash]));
    if (links.size !== previous.length || links.size !== touched.size) {
      throw new LineFault(`has ${name}, which does not link the accounts it touches`);
    }
    for (const [accountId, { head }] of touched) {
      if (links.get(accountId) !== head) {
        throw new LineFault(`has ${name}, which does not follow the transaction before it on account ${accountId}`);
      }
    }
    if ((await transactionHash(content)) !== hash) throw new LineFault(`has ${name}, which does not have its hash`);
    for (const chain of touched.values()) chain.head = hash;
    this.transactions += 1;
    this.transfers += transfers.length;
  }

  private takeEnd(end: ExportEnd, header: ExportHeader): void {
    const { chains, transactions, transfers } = this;
    const isWhole =
      [end, header].every((said) => said.accounts === chains.size && said.transactions === transactions) &&
      end.transfers === transfers;
    if (!isWhole) {
      const read = `${chains.size} accounts, ${transactions} transactions and ${transfers} transfers`;
      throw new LineFault(`ends what does not have the number of lines it should: read were ${read}`);
    }
    for (const { claimed, balance, version, head } of chains.values()) {
      const has = [balance.toString(), version, head];
      [claimed.balance, claimed.version, claimed.head].forEach((value, index) => {
        if (value === has[index]) return;
        const what = ['balance', 'version', 'head'][index];
        throw new LineFault(
          `ends account ${claimed.id} with the ${what} "${has[index]}", and "${value}" was claimed for it`,
        );
      });
    }
    this.end = end;
  }
}

function expectBalanced(name: string, transfers: readonly TransferContent[]): void {
  const sums = new Map<string, bigint>();
  for (const transfer of transfers) {
    sums.set(transfer.currencyCode, (sums.get(transfer.currencyCode) ?? 0n) + signed(transfer));
  }
  if (sums.size === 0) throw new LineFault(`has ${name} without transfers`);
  for (const [currency, sum] of sums) {
    if (sum !== 0n) throw new LineFault(`has ${name}, which is out of balance by ${sum} ${currency}`);
  }
}

/** A customer's account has a chain, and its transfers a version and a balance; the bank's own have neither. */
function isOnChain({ claimed }: Chain, { id, accountVersion, balanceAfter }: TransferContent): boolean {
  const isCustomers = claimed.kind === 'customer';
  if ((accountVersion !== undefined) !== isCustomers || (balanceAfter !== undefined) !== isCustomers) {
    throw new LineFault(`has transfer ${id}, which does not fit an account of kind "${claimed.kind}"`);
  }
  return isCustomers;
}

function move(chain: Chain, transfer: TransferContent): void {
  const { id, accountId, currencyCode, accountVersion, balanceAfter } = transfer;
  if (currencyCode !== chain.claimed.currencyCode) {
    throw new LineFault(`has transfer ${id} in ${currencyCode} on account ${accountId}, which holds another currency`);
  }
  chain.balance += signed(transfer);
  if (accountVersion === undefined) return;
  chain.version += 1;
  if (accountVersion !== chain.version) {
    throw new LineFault(`has version ${accountVersion} of account ${accountId} where ${chain.version} is next`);
  }
  if (balanceAfter !== chain.balance.toString()) {
    throw new LineFault(`has transfer ${id}, which leaves ${balanceAfter} where the transfers make ${chain.balance}`);
  }
}

function inVersionOrder(transfers: readonly TransferContent[]): readonly TransferContent[] {
  return transfers.toSorted((left, right) => (left.accountVersion ?? 0) - (right.accountVersion ?? 0));
}

function signed({ direction, amount }: TransferContent): bigint {
  return direction === 'credit' ? BigInt(amount) : -BigInt(amount);
}
