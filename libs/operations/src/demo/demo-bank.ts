import type {
  AccountId,
  AddInternalRecipientInput,
  AddInternationalRecipientInput,
  RecipientId,
  RoleName,
  WorkspaceId,
} from '@banking/domain';
import { type Books, postSandboxDeposits } from '@banking/ledger';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { DEMO_RATES } from '@banking/reference';
import { newAccountCode } from '../accounts/accounts.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import {
  addApp,
  addFunding,
  addGrants,
  addUser,
  addWorkspace,
  allApps,
  allWorkspaces,
  findUser,
} from '../provisioning/index.js';

/** The databases that the demo data is made in. The steps are recorded at home. */
export interface DemoCells {
  /** The names of the cells besides home. The workspaces are placed in home and in these, in turn. */
  readonly names: readonly string[];
  /** The books of the cell of a workspace, once the workspace is open there. */
  booksOf(workspaceId: WorkspaceId): Promise<Books>;
  /** Reserves a code of an account over all cells. Repeating it changes nothing. */
  reserveCode(workspaceId: WorkspaceId, code: string): Promise<void>;
}

export const oneDatabase = (books: Books): DemoCells => ({
  names: [],
  booksOf: () => Promise.resolve(books),
  reserveCode: () => Promise.resolve(),
});

/** The ids of the demo data, by name. */
export interface DemoIds {
  readonly apps: Readonly<Record<string, number>>;
  readonly users: Readonly<Record<string, number>>;
  readonly workspaces: Readonly<Record<string, number>>;
  /** By `<workspace> <currency>`. */
  readonly accounts: Readonly<Record<string, number>>;
  readonly recipients: Readonly<Record<string, number>>;
  readonly transfers: Readonly<Record<string, number>>;
}

type Kind = keyof DemoIds;

const FIND_STEP = sqlStatement<{ id: bigint }>('find_demo_step', 'select id from demo_step where name = $1');
const RECORD_STEP = sqlStatement('record_demo_step', 'insert into demo_step (name, id) values ($1, $2)');

const ALL_STEPS = sqlStatement<{ name: string; id: bigint }>(
  'all_demo_steps',
  'select name, id from demo_step order by made_at, id',
);

/** The last step, which marks the demo data as complete. */
const COMPLETE = 'world:whole';

/** The write that records a step. */
export const recordStep = (name: string, id: number) => bind(RECORD_STEP, name, id);

/** The id that a step made, or undefined if the step is missing. */
export async function findStep(database: Database, name: string): Promise<number | undefined> {
  const row = await database.read({}, bind(FIND_STEP, name));
  return row && Number(row.id);
}

/**
 * Runs a step once and returns the id it made. The step is recorded after `make`, so `make` must be repeatable: it takes an idempotency
 * key or looks for what it made.
 */
export async function once(database: Database, name: string, make: () => Promise<number>): Promise<number> {
  const before = await findStep(database, name);
  if (before !== undefined) return before;
  const id = await make();
  await database.pipeline({}, [recordStep(name, id)]);
  return id;
}

const TRANSACTION = 'transaction of ';

/** The step that records the transaction of a transfer's step. */
const transactionStep = (step: string) => `${TRANSACTION}${step}`;

/** An idempotency key for a step. */
export const keyOf = (step: string) => ({ idempotencyKey: `demo-${step.replace(/[^a-z0-9]+/gi, '-')}` });

export const isComplete = async (database: Database): Promise<boolean> =>
  (await findStep(database, COMPLETE)) !== undefined;

export async function markComplete(database: Database): Promise<void> {
  await database.pipeline({}, [recordStep(COMPLETE, 1)]);
}

/** The transactions of the demo data, which have no order, or an instant order or a funding. */
export async function readDemoBookings(database: Database): Promise<readonly number[]> {
  const [steps] = await database.pipeline({}, [bind(ALL_STEPS)] as const);
  return steps.filter(({ name }) => name.startsWith(TRANSACTION)).map(({ id }) => Number(id));
}

/** The ids of the demo data of the version that made it, or undefined if there is none. */
export async function readDemoIds(database: Database): Promise<DemoIds | undefined> {
  const [steps] = await database.pipeline({}, [bind(ALL_STEPS)] as const);
  if (!steps.some(({ name }) => name === COMPLETE)) return undefined;
  const world: Record<Kind, Record<string, number>> = {
    apps: {},
    users: {},
    workspaces: {},
    accounts: {},
    recipients: {},
    transfers: {},
  };
  for (const { name, id } of steps) {
    const [kind, key] = split(name);
    if (Object.hasOwn(world, kind)) world[kind as Kind][key] = Number(id);
  }
  return world;
}

function split(name: string): [string, string] {
  const colon = name.indexOf(':');
  return [name.slice(0, colon), name.slice(colon + 1)];
}

const ACTOR = 'demo';

/** The user of a gateway in front of this deployment. The gateway acts for all users, so this one has every role. */
const GATEWAY = 'gateway@northwind.example';

/** The default is a business user whose sign-up is completed. */
interface Standing {
  readonly status?: string;
  readonly userType?: 'personal';
}

export interface People {
  readonly northwind: number;
  readonly adaPersonal: number;
  readonly southwind: number;
  /** A user who has no role. */
  readonly cy: number;
}

/** The apps, their users, the workspaces and the roles in them. */
export async function makePeople({ database }: Books, provisioning: Database, { names }: DemoCells): Promise<People> {
  const ensure = (step: string, find: () => Promise<number | undefined>, make: () => Promise<number>) =>
    once(database, step, async () => (await find()) ?? (await make()));
  const app = (name: string) =>
    ensure(
      `apps:${name}`,
      async () => (await allApps(provisioning)).find((row) => row.name === name)?.id,
      () => addApp(provisioning, ACTOR, name),
    );
  const userOf = (step: string, email: string, of: string, standing: Standing = {}) =>
    ensure(
      step,
      async () => {
        const found = await findUser(provisioning, email);
        return found?.apps.includes(of) === true ? found.id : undefined;
      },
      () => addUser(provisioning, ACTOR, { email, app: of, ...standing }),
    );
  const user = (email: string, of: string, standing?: Standing) => userOf(`users:${email}`, email, of, standing);
  const workspace = (name: string, of: string, type: 'personal' | 'business', cell = 'home') =>
    ensure(
      `workspaces:${name}`,
      async () => (await allWorkspaces(provisioning)).find((row) => row.name === name && row.app === of)?.id,
      () => addWorkspace(provisioning, ACTOR, { app: of, name, type, cell }),
    );
  const grant = (email: string, workspaceId: number, ...roles: readonly RoleName[]) =>
    once(database, `grants:${email} ${workspaceId}`, async () => {
      const [granted] = await addGrants(provisioning, ACTOR, { workspaceId, email, roles });
      return granted!.id;
    });

  await app('Northwind Treasury');
  await app('Southwind');
  await user('ada@northwind.example', 'Northwind Treasury');
  await user('bob@northwind.example', 'Northwind Treasury');
  await user('dana@northwind.example', 'Northwind Treasury');
  const cy = await user('cy@northwind.example', 'Northwind Treasury', { status: 'pending', userType: 'personal' });
  await user('eve@southwind.example', 'Southwind');
  const northwind = await workspace('Northwind Trading', 'Northwind Treasury', 'business');
  const adaPersonal = await workspace('Ada personal', 'Northwind Treasury', 'personal', names[0]);
  const southwind = await workspace('Southwind Imports', 'Southwind', 'business', names.at(-1));
  await grant('ada@northwind.example', northwind, 'admin', 'member');
  await grant('ada@northwind.example', adaPersonal, 'admin', 'member');
  await grant('bob@northwind.example', northwind, 'member');
  await grant('dana@northwind.example', northwind, 'approver');
  await grant('eve@southwind.example', southwind, 'admin', 'member');
  await user(GATEWAY, 'Northwind Treasury');
  await userOf(`memberships:${GATEWAY} Southwind`, GATEWAY, 'Southwind');
  for (const workspaceId of [northwind, adaPersonal, southwind]) {
    await grant(GATEWAY, workspaceId, 'admin', 'member', 'approver');
  }
  return { northwind, adaPersonal, southwind, cy };
}

export interface DemoAccount {
  readonly workspaceId: WorkspaceId;
  readonly id: AccountId;
  readonly currencyId: number;
  readonly code: string;
}

/** The ids that a transfer of the demo data made. */
interface DemoTransfer {
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
    return new LedgerBankingService(books.database, books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING }, isSandbox, {
      newCode,
    });
  }

  private async serviceOf(workspaceId: WorkspaceId): Promise<LedgerBankingService> {
    const books = await this.cells.booksOf(workspaceId);
    return books === this.books ? this.service : this.serviceOn(books);
  }

  /** @param code the code that the documentation names */
  async openAccount(
    step: string,
    { workspaceId, currency, alias, code }: { workspaceId: number; currency: string; alias: string; code: string },
  ): Promise<DemoAccount> {
    const scope = { workspaceId: workspaceId as WorkspaceId };
    const id = await once(this.books.database, step, async () => {
      const service = await this.serviceOf(scope.workspaceId);
      const products = await service.listProducts({});
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
      const { transfer } = await addFunding(await this.cells.booksOf(workspaceId), funding, postSandboxDeposits);
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
