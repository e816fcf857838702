import type {
  AccountId,
  AddInternalRecipientInput,
  AddInternationalRecipientInput,
  RecipientId,
  TransferAmount,
  WorkspaceId,
} from '@banking/domain';
import { LedgerBankingService, newAccountCode } from '@banking/operations';
import { DEMO_RATES } from '@banking/rates';
import { findStep, keyOf, once, recordStep, transactionStep } from './demo-steps.js';

/** The open books of a deployment, as the service takes them. */
export type Books = NonNullable<ConstructorParameters<typeof LedgerBankingService>[1]>;

export interface DemoAccount {
  readonly workspaceId: WorkspaceId;
  readonly id: AccountId;
  readonly currencyId: number;
  readonly code: string;
}

/** The ids that a transfer of the demo data made. */
export interface DemoTransfer {
  readonly transactionId: number;
  readonly transferId: number;
}

/** Makes accounts, money and recipients through the port, each step once. */
export class DemoBank {
  readonly service: LedgerBankingService;
  private nextCode: string | undefined;

  constructor(readonly books: Books) {
    const isSandbox = true;
    this.service = new LedgerBankingService(books.database, books, { rates: DEMO_RATES }, isSandbox, () => {
      const code = this.nextCode ?? newAccountCode();
      this.nextCode = undefined;
      return code;
    });
  }

  /** @param code the code that the documentation names. A random one replaces it if an older version has used it. */
  async openAccount(
    step: string,
    { workspaceId, currency, alias, code }: { workspaceId: number; currency: string; alias: string; code: string },
  ): Promise<DemoAccount> {
    const scope = { workspaceId: workspaceId as WorkspaceId };
    const id = await once(this.books.database, step, async () => {
      const products = await this.service.listProducts();
      const product = products.find(({ edges }) => edges.currency?.code === currency);
      if (!product) throw new Error(`there is no product in ${currency}`);
      this.nextCode = code;
      const { resource } = await this.service.openAccount(scope, { productID: product.id, alias }, keyOf(step));
      return resource.id;
    });
    const { code: actual, edges } = await this.service.getAccount(scope, { accountId: id as AccountId });
    return { ...scope, id: id as AccountId, currencyId: edges.currency!.id, code: actual! };
  }

  /** Disables an account once. The next start does not undo an administrator's change. */
  async disableAccount(step: string, { workspaceId, id }: DemoAccount): Promise<void> {
    await once(this.books.database, step, async () => {
      await this.service.changeAccount({ workspaceId }, { accountId: id, status: 'disabled' });
      return id;
    });
  }

  async fund(step: string, { workspaceId, id: accountId }: DemoAccount, amount: TransferAmount): Promise<void> {
    await this.transfer(step, async () => {
      const { resource } = await this.service.fundAccount({ workspaceId }, { accountId, amount }, keyOf(step));
      return { transferId: resource.id, transactionId: resource.edges.transaction!.id };
    });
  }

  async addInternalRecipient(
    step: string,
    workspaceId: number,
    input: AddInternalRecipientInput,
  ): Promise<RecipientId> {
    const scope = { workspaceId: workspaceId as WorkspaceId };
    const add = async () => (await this.service.addInternalRecipient(scope, input, keyOf(step))).resource.id;
    return (await once(this.books.database, step, add)) as RecipientId;
  }

  async addInternationalRecipient(
    step: string,
    workspaceId: number,
    input: AddInternationalRecipientInput,
  ): Promise<RecipientId> {
    const scope = { workspaceId: workspaceId as WorkspaceId };
    const add = async () => (await this.service.addInternationalRecipient(scope, input, keyOf(step))).resource.id;
    return (await once(this.books.database, step, add)) as RecipientId;
  }

  /** A step that makes a transfer, and the step that records its transaction. @param make must be repeatable, as in `once` */
  async transfer(step: string, make: () => Promise<DemoTransfer>): Promise<DemoTransfer> {
    const before = await this.findTransfer(step);
    if (before) return before;
    const made = await make();
    await this.books.database.pipeline({}, recordTransfer(step, made));
    return made;
  }

  private async findTransfer(step: string): Promise<DemoTransfer | undefined> {
    const transferId = await findStep(this.books.database, step);
    const transactionId = await findStep(this.books.database, transactionStep(step));
    return transferId === undefined || transactionId === undefined ? undefined : { transferId, transactionId };
  }
}

const recordTransfer = (step: string, { transactionId, transferId }: DemoTransfer) => [
  recordStep(transactionStep(step), transactionId),
  recordStep(step, transferId),
];
