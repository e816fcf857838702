import type { MinorUnits } from './amount.js';
import {
  type ExportedAccount,
  type ExportedTransaction,
  type ExportEnd,
  type ExportHeader,
  type ExportLine,
  readExportLine,
} from './export-lines.js';
import { LineFault } from './record.js';
import { type Chain, expectBalanced, inVersionOrder, isOnChain, move, ReplayedDetails } from './replay.js';
import type { Timestamp } from './timestamp.js';
import { transactionHash } from './transaction-hash.js';

/** The maximum length of a line in characters. A longer line is refused unread. */
export const LINE_LENGTH_MAX = 1_000_000;

/** The result of a proof. */
export interface ExportProof {
  readonly workspace: { readonly id: number; readonly name: string };
  readonly exportedAt: Timestamp;
  /** In the order of the export. Compare a head with the hash of a transaction from another source. */
  readonly accounts: readonly ProvenAccount[];
  readonly transactions: number;
  readonly transfers: number;
  readonly recipients: number;
  readonly orders: number;
  readonly executions: number;
  readonly conversions: number;
  readonly events: number;
  /** How many recipients, orders and transfers have texts that were erased: their digests are proven, and the texts are missing. */
  readonly erased: number;
}

export interface ProvenAccount {
  readonly id: number;
  readonly kind: string;
  readonly currencyCode: string;
  /** The sum of its transfers: credits less debits. */
  readonly balance: MinorUnits;
  readonly version: number;
  /** The recomputed hash at the end of its chain; `''` without one. */
  readonly head: string;
}

/** The end of the chain of a customer account after one transaction of an export. */
export interface ProvenHead {
  readonly workspaceId: number;
  readonly accountId: number;
  /** The version before the transaction. */
  readonly from: number;
  readonly version: number;
  readonly hash: string;
}

/** What `proveExport` may report besides its result. */
export interface ProveOptions {
  /** Called for each customer account of each transaction, in the order of the account. Compare it with a head from elsewhere. */
  readonly onHead?: ((head: ProvenHead) => void) | undefined;
}

/** An export is not valid: the number of its first invalid line, from 1, and the fault. */
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
 * Proves the books in an export from its lines alone, as `banking export` wrote them.
 *
 * It checks these rules:
 *
 * - In each transaction, debits equal credits in each currency, and the hash matches the content.
 * - On each customer account, versions have no gap, each balance continues the previous one, and each transaction has the hash
 *   of the previous one. It is never below zero.
 * - Each account ends with its claimed balance, version and head.
 * - Names, accounts and texts are those that their digests cover. Erased ones are missing, and counted.
 * - No line is missing, and no line follows the end.
 *
 * No hash covers the name and time of the header, the kind of an account, and the status of a transaction and the time of its last change.
 * A completely invented file is consistent too: compare a hash with one that you received before.
 *
 * Memory use is one entry for each account, independent of the number of transactions. Also works in a browser.
 *
 * @param lines without their line feeds; `linesOf` makes them from bytes.
 * @throws ExportFault
 */
export async function proveExport(
  lines: AsyncIterable<string> | Iterable<string>,
  { onHead }: ProveOptions = {},
): Promise<ExportProof> {
  const replay = new Replay(onHead);
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

type DetailLine = Extract<
  ExportLine,
  { recipient: unknown } | { order: unknown } | { execution: unknown } | { conversion: unknown } | { event: unknown }
>;

class Replay {
  constructor(private readonly onHead: ProveOptions['onHead']) {}

  private header: ExportHeader | undefined;
  private readonly details = new ReplayedDetails();
  private readonly chains = new Map<number, Chain>();
  private transactions = 0;
  private transfers = 0;
  private end: ExportEnd | undefined;

  async take(text: string): Promise<void> {
    if (text.length > LINE_LENGTH_MAX) throw new LineFault(`has more than ${LINE_LENGTH_MAX} characters`);
    if (this.end) throw new LineFault('follows the end of the export');
    const line = readExportLine(text);
    if (this.header === undefined) {
      if (!('header' in line)) throw new LineFault('is not a header, and an export must begin with one');
      this.header = line.header;
    } else if ('account' in line) this.takeAccount(line.account);
    else if ('transaction' in line) await this.takeTransaction(line.transaction, this.header);
    else if ('end' in line) this.takeEnd(line.end, this.header);
    else if ('header' in line) throw new LineFault('is a second header');
    else await this.takeDetail(line);
  }

  private async takeDetail(line: DetailLine): Promise<void> {
    if ('recipient' in line) await this.details.takeRecipient(line.recipient);
    else if ('order' in line) {
      const account = this.chains.get(line.order.content.accountId);
      await this.details.takeOrder(line.order, account?.claimed.kind === 'customer');
    } else if ('execution' in line) this.details.takeExecution(line.execution);
    else if ('conversion' in line) await this.details.takeConversion(line.conversion);
    else this.details.takeEvent(line.event);
  }

  /** @throws LineFault without an end line */
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
      ...this.details.counts,
    };
  }

  private takeAccount(claimed: ExportedAccount): void {
    if (this.transactions > 0) throw new LineFault(`has account ${claimed.id} after transactions`);
    if (this.chains.has(claimed.id)) throw new LineFault(`has account ${claimed.id} twice`);
    this.chains.set(claimed.id, { claimed, balance: 0n, version: 0, head: '' });
  }

  private async takeTransaction(
    { content, hash, descriptions = [] }: ExportedTransaction,
    header: ExportHeader,
  ): Promise<void> {
    const { transactionId, transfers, previous } = content;
    const name = `transaction ${transactionId}`;
    this.details.startTransaction(content);
    if (content.workspaceId !== header.workspace.id) throw new LineFault(`has ${name} of another workspace`);
    expectBalanced(name, transfers);

    const changed = new Map<number, Chain>();
    const before = new Map<number, number>();
    for (const transfer of inVersionOrder(transfers)) {
      const chain = this.chains.get(transfer.accountId);
      if (!chain) throw new LineFault(`has ${name} on account ${transfer.accountId}, which is not in the export`);
      if (isOnChain(chain, transfer) && !changed.has(transfer.accountId)) {
        changed.set(transfer.accountId, chain);
        before.set(transfer.accountId, chain.version);
      }
      move(chain, transfer);
    }

    const links = new Map(previous.map((link) => [link.accountId, link.hash]));
    if (links.size !== previous.length || links.size !== changed.size) {
      throw new LineFault(`has ${name}, which does not link exactly its customer accounts`);
    }
    for (const [accountId, { head }] of changed) {
      if (links.get(accountId) !== head) {
        throw new LineFault(`has ${name}, which does not follow the previous transaction of account ${accountId}`);
      }
    }
    if ((await transactionHash(content)) !== hash)
      throw new LineFault(`has ${name}, whose hash does not match its content`);
    await this.details.takeDescriptions(name, transfers, descriptions);
    for (const [accountId, chain] of changed) {
      chain.head = hash;
      const { version } = chain;
      this.onHead?.({ workspaceId: content.workspaceId, accountId, from: before.get(accountId)!, version, hash });
    }
    this.transactions += 1;
    this.transfers += transfers.length;
  }

  private takeEnd(end: ExportEnd, header: ExportHeader): void {
    this.details.finish(end);
    const { chains, transactions, transfers } = this;
    const isComplete =
      [end, header].every((counts) => counts.accounts === chains.size && counts.transactions === transactions) &&
      end.transfers === transfers;
    if (!isComplete) {
      const read = `${chains.size} accounts, ${transactions} transactions and ${transfers} transfers`;
      throw new LineFault(`ends an export with another number of lines: it has ${read}`);
    }
    for (const { claimed, balance, version, head } of chains.values()) {
      const actual = [balance.toString(), version, head];
      [claimed.balance, claimed.version, claimed.head].forEach((value, index) => {
        if (value === actual[index]) return;
        const field = ['balance', 'version', 'head'][index];
        throw new LineFault(
          `ends account ${claimed.id} with the ${field} "${actual[index]}" instead of the claimed "${value}"`,
        );
      });
    }
    this.end = end;
  }
}
