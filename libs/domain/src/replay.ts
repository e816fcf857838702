import {
  type ExportedAccount,
  DETAILS,
  type ExportedConversion,
  type ExportedEvent,
  type ExportedExecution,
  type ExportedOrder,
  type ExportedRecipient,
  type ExportEnd,
} from './export-lines.js';
import { LineFault } from './record.js';
import {
  type TransferContent,
  digestOf,
  type TransactionContent,
  canonicalConversion,
  canonicalDescription,
  canonicalOrder,
  canonicalOrderTexts,
  canonicalPerson,
  canonicalRecipient,
  type TransferText,
} from './transaction-hash.js';

/** The state of an account after the transactions so far. */
export interface Chain {
  readonly claimed: ExportedAccount;
  balance: bigint;
  version: number;
  head: string;
}

/** @throws LineFault unless debits equal credits in each currency */
export function expectBalanced(name: string, transfers: readonly TransferContent[]): void {
  const sums = new Map<string, bigint>();
  for (const transfer of transfers) {
    sums.set(transfer.currencyCode, (sums.get(transfer.currencyCode) ?? 0n) + signed(transfer));
  }
  if (sums.size === 0) throw new LineFault(`has ${name} without transfers`);
  for (const [currency, sum] of sums) {
    if (sum !== 0n) throw new LineFault(`has ${name}, which is out of balance by ${sum} ${currency}`);
  }
}

/** A customer account has a chain, and its transfers have a version and a balance. Own accounts have neither. */
export function isOnChain({ claimed }: Chain, { id, accountVersion, balanceAfter }: TransferContent): boolean {
  const isCustomers = claimed.kind === 'customer';
  if ((accountVersion !== undefined) !== isCustomers || (balanceAfter !== undefined) !== isCustomers) {
    throw new LineFault(`has transfer ${id}, which does not match an account of kind "${claimed.kind}"`);
  }
  return isCustomers;
}

/** Continues the chain by a transfer. @throws LineFault unless version and balance follow, and the account is not below zero */
export function move(chain: Chain, transfer: TransferContent): void {
  const { id, accountId, currencyCode, accountVersion, balanceAfter } = transfer;
  if (currencyCode !== chain.claimed.currencyCode) {
    throw new LineFault(`has transfer ${id} in ${currencyCode} on account ${accountId}, which has another currency`);
  }
  chain.balance += signed(transfer);
  if (accountVersion === undefined) return;
  chain.version += 1;
  if (accountVersion !== chain.version) {
    throw new LineFault(`has version ${accountVersion} of account ${accountId} where ${chain.version} must follow`);
  }
  if (balanceAfter !== chain.balance.toString()) {
    throw new LineFault(
      `has transfer ${id} with the balance ${balanceAfter} where the transfers add up to ${chain.balance}`,
    );
  }
  if (chain.balance < 0n) throw new LineFault(`has transfer ${id}, which leaves account ${accountId} below zero`);
}

export function inVersionOrder(transfers: readonly TransferContent[]): readonly TransferContent[] {
  return transfers.toSorted((left, right) => (left.accountVersion ?? 0) - (right.accountVersion ?? 0));
}

function signed({ direction, amount }: TransferContent): bigint {
  return direction === 'credit' ? BigInt(amount) : -BigInt(amount);
}

type Order = Pick<ExportedOrder, 'digest'> &
  Pick<ExportedOrder['content'], 'id' | 'accountId' | 'recipientId' | 'amount'>;

/** The transaction whose details may follow. */
interface Current {
  readonly content: TransactionContent;
  order?: Order;
  execution?: ExportedExecution;
  conversion?: ExportedConversion;
  lastEvent: number;
}

/**
 * Recipients, orders, executions, conversions and events of an export. Each follows what it belongs to, so that the memory is one entry
 * for each recipient, and for each order that runs later.
 */
export class ReplayedDetails {
  readonly counts = { recipients: 0, orders: 0, executions: 0, conversions: 0, events: 0, erased: 0 };
  private readonly recipients = new Map<number, string>();
  private readonly orders = new Map<number, Order>();
  private lastOrder: Order | undefined;
  private current: Current | undefined;

  async takeRecipient({ content, person, digest }: ExportedRecipient): Promise<void> {
    const name = `recipient ${content.id}`;
    if (this.current || this.lastOrder) throw new LineFault(`has ${name} after orders or transactions`);
    if (this.recipients.has(content.id)) throw new LineFault(`has ${name} twice`);
    await this.expectPersonal(`the person of ${name}`, person && canonicalPerson(person), content.personDigest);
    await expectDigest(name, canonicalRecipient(content), digest);
    this.recipients.set(content.id, digest);
    this.counts.recipients += 1;
  }

  /** @param isCustomers whether its account is a customer account of the export */
  async takeOrder({ content, texts, digest }: ExportedOrder, isCustomers: boolean): Promise<void> {
    const { id, accountId, recipientId, amount, type } = content;
    const name = `order ${id}`;
    await this.expectPersonal(`the texts of ${name}`, texts && canonicalOrderTexts(texts), content.textsDigest);
    await expectDigest(name, canonicalOrder(content), digest);
    if (!isCustomers)
      throw new LineFault(`has ${name} of account ${accountId}, which is no customer account of the export`);
    if (!this.recipients.has(recipientId)) throw notExported(name, recipientId);
    if ((type === 'instant') !== (this.current !== undefined))
      throw new LineFault(`has ${name} in another place than its type has`);
    if (this.orders.has(id) || this.current?.order) throw new LineFault(`has ${name} after another order of its place`);
    const order = { id, accountId, recipientId, amount, digest };
    if (this.current) this.current.order = order;
    else {
      this.orders.set(id, order);
      this.lastOrder = order;
    }
    this.counts.orders += 1;
  }

  /** @throws LineFault if the transaction before misses a detail, or a recipient of this one is missing or differs */
  startTransaction(content: TransactionContent): void {
    this.finishTransaction();
    const { transfers, transactionId } = content;
    const name = `transaction ${transactionId}`;
    for (const { recipientId, recipientDigest } of transfers) {
      if (recipientId === undefined) continue;
      const digest = this.recipients.get(recipientId);
      if (digest === undefined) throw notExported(name, recipientId);
      if (digest !== recipientDigest) {
        throw new LineFault(`has ${name}, which covers other details of recipient ${recipientId}`);
      }
    }
    this.current = { content, lastEvent: 0 };
  }

  /** @throws LineFault for a description that no transfer of the transaction covers */
  async takeDescriptions(
    name: string,
    transfers: readonly TransferContent[],
    descriptions: readonly TransferText[],
  ): Promise<void> {
    const texts = new Map(descriptions.map((text) => [text.transferId, text]));
    if (texts.size < descriptions.length) throw new LineFault(`has ${name} with two descriptions of a transfer`);
    for (const { id, descriptionDigest } of transfers) {
      const text = texts.get(id);
      texts.delete(id);
      await this.expectPersonal(
        `the description of transfer ${id}`,
        text && canonicalDescription(text),
        descriptionDigest,
      );
    }
    if (texts.size > 0) throw new LineFault(`has ${name} with a description of a transfer that it does not have`);
  }

  /** A digest without its text is that of an erased one. */
  private async expectPersonal(name: string, text: string | undefined, digest: string | undefined): Promise<void> {
    if (text === undefined) {
      if (digest !== undefined) this.counts.erased += 1;
    } else if (digest === undefined) throw new LineFault(`has ${name}, which no digest covers`);
    else await expectDigest(name, text, digest);
  }

  takeExecution(execution: ExportedExecution): void {
    const { id, orderId, transactionId, status } = execution;
    const name = `execution ${id}`;
    this.counts.executions += 1;
    if (transactionId === undefined) {
      if (this.current || this.lastOrder?.id !== orderId)
        throw new LineFault(`has ${name}, which does not follow its order`);
      if (/^(?:pending|completed)$/.test(status))
        throw new LineFault(`has ${name}, which is ${status} without a transaction`);
      return;
    }
    const current = this.currentOf(name, transactionId);
    const order = current.order ?? this.orders.get(orderId);
    if (current.execution)
      throw new LineFault(`has ${name} of transaction ${transactionId}, which has another execution`);
    if (order?.id !== orderId)
      throw new LineFault(`has ${name} of order ${orderId}, which is not the order of its transaction`);
    const { orderDigest, transfers } = current.content;
    if (orderDigest !== order.digest) {
      throw new LineFault(`has ${name}, whose transaction covers another order than ${orderId}`);
    }
    const paid = transfers.filter(
      (transfer) => transfer.accountId === order.accountId && transfer.direction === 'debit' && transfer.type !== 'fee',
    );
    if (paid.length !== 1 || paid[0]!.amount !== order.amount || paid[0]!.recipientId !== order.recipientId) {
      throw new LineFault(`has ${name}, whose transaction has not paid what order ${orderId} says`);
    }
    current.execution = execution;
  }

  async takeConversion(conversion: ExportedConversion): Promise<void> {
    const { content, digest, transactionId } = conversion;
    const name = `a conversion of transaction ${transactionId}`;
    const current = this.currentOf(name, transactionId);
    if (current.conversion) throw new LineFault(`has ${name}, which has one already`);
    await expectDigest(name, canonicalConversion(content), digest);
    if (current.content.conversionDigest !== digest) {
      throw new LineFault(`has ${name}, which covers another conversion`);
    }
    current.conversion = conversion;
    this.counts.conversions += 1;
  }

  takeEvent({ id, transactionId }: ExportedEvent): void {
    const current = this.currentOf(`event ${id}`, transactionId);
    if (id <= current.lastEvent) throw new LineFault(`has event ${id}, which does not follow in the order of ids`);
    current.lastEvent = id;
    this.counts.events += 1;
  }

  /** @throws LineFault if details are missing */
  finish(end: ExportEnd): void {
    this.finishTransaction();
    for (const kind of DETAILS) {
      if (end[kind] === this.counts[kind]) continue;
      throw new LineFault(`ends an export with another number of lines: it has ${this.counts[kind]} ${kind}`);
    }
  }

  private finishTransaction(): void {
    if (!this.current) return;
    const { content, order, execution, conversion } = this.current;
    const { transactionId, orderDigest, conversionDigest } = content;
    const missing = (what: string) => new LineFault(`follows transaction ${transactionId} without its ${what}`);
    if (order && !execution) throw missing('execution');
    if ((orderDigest !== undefined) !== (execution !== undefined)) throw missing('execution');
    if ((conversionDigest !== undefined) !== (conversion !== undefined)) throw missing('conversion');
  }

  private currentOf(name: string, transactionId: number): Current {
    if (this.current?.content.transactionId !== transactionId) {
      throw new LineFault(`has ${name}, which does not follow transaction ${transactionId}`);
    }
    return this.current;
  }
}

async function expectDigest(name: string, text: string, digest: string): Promise<void> {
  if ((await digestOf(text)) !== digest) throw new LineFault(`has ${name}, whose digest does not match its content`);
}

function notExported(name: string, recipientId: number): LineFault {
  return new LineFault(`has ${name} with recipient ${recipientId}, which is not in the export`);
}
