import type {
  AccountId,
  AddInternalRecipientInput,
  AddInternationalRecipientInput,
  RecipientId,
  WorkspaceId,
} from '@banking/domain';
import type { Books } from '@banking/ledger';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { newAccountCode } from '../accounts/account-code.js';
import { addFunding } from '../provisioning/index.js';
import { DEMO_RATES } from '@banking/rates';
import type { DemoCells } from './demo-cells.js';
import { findStep, keyOf, once, recordStep, transactionStep } from './demo-steps.js';

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

/** Makes accounts, money and recipients through the operations that serve customers and operators, each step once. */
export class DemoBank {
  readonly service: LedgerBankingService;
  private nextCode: string | undefined;

  /** @param books those of home, where the steps are recorded */
  constructor(
    readonly books: Books,
    private readonly cells: DemoCells,
  ) {
    this.service = this.serviceOn(books);
  }

  private serviceOn(books: Books): LedgerBankingService {
    const isSandbox = true;
    const newCode = async (workspaceId: WorkspaceId) => {
      const code = this.nextCode ?? newAccountCode();
      this.nextCode = undefined;
      await this.cells.reserveCode(workspaceId, code);
      return code;
    };
    return new LedgerBankingService(books.database, books, { rates: DEMO_RATES, hasPayoutNetwork: true }, isSandbox, {
      newCode,
    });
  }

  private async serviceOf(workspaceId: WorkspaceId): Promise<LedgerBankingService> {
    const books = await this.cells.booksOf(workspaceId);
    return books === this.books ? this.service : this.serviceOn(books);
  }

  /** @param code the code that the documentation names. A random one replaces it if an older version has used it. */
  async openAccount(
    step: string,
    { workspaceId, currency, alias, code }: { workspaceId: number; currency: string; alias: string; code: string },
  ): Promise<DemoAccount> {
    const scope = { workspaceId: workspaceId as WorkspaceId };
    const id = await once(this.books.database, step, async () => {
      const service = await this.serviceOf(scope.workspaceId);
      const products = await service.listProducts();
      const product = products.find(({ edges }) => edges.currency?.code === currency);
      if (!product) throw new Error(`there is no product in ${currency}`);
      this.nextCode = code;
      const { resource } = await service.openAccount(scope, { productID: product.id, alias }, keyOf(step));
      return resource.id;
    });
    const service = await this.serviceOf(scope.workspaceId);
    const { code: actual, edges } = await service.getAccount(scope, { accountId: id as AccountId });
    return { ...scope, id: id as AccountId, currencyId: edges.currency!.id, code: actual! };
  }

  /** Disables an account once. The next start does not undo an administrator's change. */
  async disableAccount(step: string, { workspaceId, id }: DemoAccount): Promise<void> {
    await once(this.books.database, step, async () => {
      await (await this.serviceOf(workspaceId)).changeAccount({ workspaceId }, { accountId: id, status: 'disabled' });
      return id;
    });
  }

  /** @param amount as people write it, in the currency of the account */
  async fund(step: string, { workspaceId, id: accountId }: DemoAccount, amount: string): Promise<void> {
    await this.transfer(step, async () => {
      const funding = { accountId, amount, reference: 'Opening funds', key: keyOf(step).idempotencyKey };
      const { transfer } = await addFunding(await this.cells.booksOf(workspaceId), funding);
      return { transferId: transfer.id, transactionId: transfer.edges.transaction!.id };
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

  async findTransfer(step: string): Promise<DemoTransfer | undefined> {
    const transferId = await findStep(this.books.database, step);
    const transactionId = await findStep(this.books.database, transactionStep(step));
    return transferId === undefined || transactionId === undefined ? undefined : { transferId, transactionId };
  }
}

export const recordTransfer = (step: string, { transactionId, transferId }: DemoTransfer) => [
  recordStep(transactionStep(step), transactionId),
  recordStep(step, transferId),
];
