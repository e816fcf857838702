import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';
import { ROOT } from './consumer.js';
import { run } from './run.js';

const FOLDER = join(run().consumer, 'types');

/** What a sibling team writes, and what the compiler must not let them write. */
const USE = `
import { type BankingClient, RemoteRefusal, ServiceError } from '@banking/client';
import { type WebhookFault, type WebhookHeaders, WebhookVerificationError, verifyWebhook } from '@banking/client/webhooks';
import { type AccountId, type Balance, Refusal, type RefusalReason, REFUSALS, type Transfer, type TransferAmount, add, compare, formatAmount,
  fromBalanceAmount, parseTransferAmount } from '@banking/domain';
import { CURRENCY_NAMES } from '@banking/domain/prose';
import { ExportFault, linesOf, proveExport } from '@banking/domain/proof';

export async function show(banking: BankingClient, transfer: Transfer, balance: Balance): Promise<string> {
  const sum = add(parseTransferAmount(transfer.amount), fromBalanceAmount(balance.amount));
  const order: -1 | 0 | 1 = compare(sum, sum);
  const [app] = await banking.apps.list();
  if (app) await banking.apps.users(app.id);
  const { resource } = await banking.workspace(1).orders.place(
    { accountId: 1, recipientID: 2, amount: '5000', type: 'instant', quoteID: undefined },
    { idempotencyKey: 'invoice-4711' },
  );
  const placed: TransferAmount = resource.amount;
  await banking.workspace(1).transfers.listPage({ accountId: 1, recipientId: 2, limit: 10, cursor: undefined });
  return formatAmount(sum, transfer.edges.account?.edges.currency ?? 'EUR', 'en') + order + placed;
}

export function reasonOf(error: unknown): RefusalReason | number | undefined {
  if (error instanceof RemoteRefusal) return error.requestId === undefined ? undefined : error.reason;
  if (error instanceof Refusal) return error.reason;
  return error instanceof ServiceError ? error.status : undefined;
}

export const advice = (reason: RefusalReason): string => REFUSALS[reason].action;
export const euro: string = CURRENCY_NAMES.EUR;

export async function totalOf(bytes: AsyncIterable<Uint8Array>): Promise<string | number> {
  try {
    const { accounts } = await proveExport(linesOf(bytes));
    return accounts.map(({ balance, currencyCode }) => formatAmount(balance, currencyCode, 'en')).join();
  } catch (error) {
    if (error instanceof ExportFault) return error.line;
    throw error;
  }
}

export async function orderOf(headers: WebhookHeaders, body: string, secrets: string[]): Promise<number | WebhookFault | undefined> {
  try {
    const webhook = await verifyWebhook(headers, body, secrets);
    return webhook.type === 'webhook.test' ? undefined : webhook.data.changes.orderID;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason;
    throw error;
  }
}

export async function mistakes(banking: BankingClient, transfer: Transfer, balance: Balance, accountId: AccountId) {
  // @ts-expect-error two spellings do not add up
  transfer.amount + balance.amount;
  // @ts-expect-error a balance is read before it is calculated with
  balance.amount - 1;
  // @ts-expect-error a transfer amount is read before it is shown
  formatAmount(transfer.amount, 'EUR');
  // @ts-expect-error an account is no app
  await banking.apps.users(accountId);
  // @ts-expect-error an account is no transfer
  await banking.workspace(1).transfers.get(accountId);
  // @ts-expect-error a currency that is gone has no name
  CURRENCY_NAMES.BGN;
  // @ts-expect-error a parsed body has another signature
  await verifyWebhook({}, { type: 'order.placed' }, 'whsec_');
  // @ts-expect-error a resource is not changed
  transfer.description = '';
}
`;

/** Money of a CommonJS library of theirs, shown by their ES module. */
const HANDED_OVER = {
  'amounts.cts': `import { type MinorUnits, minorUnits } from '@banking/domain'; export const fee: MinorUnits = minorUnits(125n);`,
  'shows.mts': `import { formatAmount } from '@banking/domain'; import { fee } from './amounts.cjs'; export const shown = formatAmount(fee, 'EUR');`,
};

const DOMAIN_ONLY = `
import { type MinorUnits, formatAmount, minorUnits, parseAmount } from '@banking/domain';
export const total: MinorUnits = minorUnits(parseAmount('12.50', 'EUR') + 5n);
export const shown: string = formatAmount(total, 'EUR');
`;

const FILES = { 'use.ts': USE, 'use.mts': USE, 'use.cts': USE, ...HANDED_OVER, 'domain-only.ts': DOMAIN_ONLY };

const { ModuleKind, ModuleResolutionKind, ScriptTarget } = ts;
const NODE_16 = { module: ModuleKind.Node16, moduleResolution: ModuleResolutionKind.Node16 };
const NODE_NEXT = { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext };
const BUNDLER = { module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler };
const lib = (...names: readonly string[]) => ({ lib: names.map((name) => `lib.${name}.d.ts`) });

const WAYS: Readonly<Record<string, { readonly files: readonly string[]; readonly options: ts.CompilerOptions }>> = {
  'module node16, both kinds of module': {
    files: ['use.mts', 'use.cts', 'amounts.cts', 'shows.mts'],
    options: { ...NODE_16, ...lib('es2022', 'dom') },
  },
  'module nodenext, both kinds of module': {
    files: ['use.mts', 'use.cts', 'amounts.cts', 'shows.mts'],
    options: { ...NODE_NEXT, ...lib('es2022', 'dom') },
  },
  'a bundler': { files: ['use.ts'], options: { ...BUNDLER, ...lib('es2022', 'dom') } },
  "no dom, but Node's types": {
    files: ['use.ts'],
    options: { ...BUNDLER, ...lib('es2022'), types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] },
  },
  'the domain alone, without dom': { files: ['domain-only.ts'], options: { ...BUNDLER, ...lib('es2022') } },
  'the condition that our own workspace sets': {
    files: ['use.mts', 'use.cts'],
    options: { ...NODE_NEXT, ...lib('es2023', 'dom', 'dom.iterable'), customConditions: ['@banking/source'] },
  },
};

beforeAll(() => {
  mkdirSync(FOLDER);
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(FOLDER, name), text);
});

describe('strict project with skipLibCheck off', () => {
  it.each(Object.keys(WAYS))('compiles without errors with %s', (name) => {
    expect(complaints(WAYS[name]?.files ?? [], WAYS[name]?.options ?? {})).toEqual([]);
  });

  it('reports the missing fetch of the client', () => {
    const found = complaints(['use.ts'], { ...BUNDLER, ...lib('es2022') });

    const missing = ['URL', 'AbortSignal'].map((name) => `Cannot find name '${name}'.`);
    expect(new Set(found)).toEqual(new Set(missing));
  });
});

/** Parsed once: the platform's own declarations are most of the work. */
const parsed = new Map<string, ts.SourceFile | undefined>();

function complaints(files: readonly string[], wanted: ts.CompilerOptions): string[] {
  const options: ts.CompilerOptions = {
    target: ScriptTarget.ES2022,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    // The platform's own declarations are TypeScript's to check.
    skipDefaultLibCheck: true,
    noEmit: true,
    types: [],
    ...wanted,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (path, ...rest) => {
    if (!/\/typescript\/lib\/lib\./.test(path)) return getSourceFile(path, ...rest);
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, ...rest));
    return parsed.get(path);
  };
  const roots = files.map((name) => join(FOLDER, name));
  return ts
    .getPreEmitDiagnostics(ts.createProgram(roots, options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
