import type { ExportedAccount } from './export-lines.js';
import { LineFault } from './line-fields.js';
import type { TransferContent } from './transaction-hash.js';

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
