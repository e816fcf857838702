import { join } from 'node:path';
import * as ts from 'typescript';

/**
 * Code that the compiler must reject, and similar code that it must accept. The accepted code makes the test fail if a
 * type is too strict.
 */
const PRELUDE = `
import type { AccountId, BalanceAmount, BankingService, CurrencyCode, MinorUnits, RefusalReason, Scope, Transfer,
  TransferAmount, TransferId, TransactionStatus, User, UserId, WorkspaceId } from './index.js';
import { Refusal, add, compare, convert, formatAmount, fromBalanceAmount, minorUnits, parseId, parseTransferAmount,
  rateOf, split, toBalanceAmount, toTransferAmount } from './index.js';
declare const transferAmount: TransferAmount, balanceAmount: BalanceAmount, minor: MinorUnits;
declare const accountId: AccountId, transferId: TransferId, workspaceId: WorkspaceId, userId: UserId;
declare const service: BankingService, scope: Scope, transfer: Transfer, user: User;
`;

const REJECTED = {
  'adding a balance to a transfer amount': 'transferAmount + balanceAmount',
  'adding a transfer amount to a balance': 'balanceAmount + transferAmount',
  'adding two balances': 'balanceAmount + balanceAmount',
  'adding a balance to minor units': 'minor + balanceAmount',
  'subtracting from a balance': 'balanceAmount - 1',
  'subtracting transfer amounts': 'transferAmount - transferAmount',
  'comparing a balance with a transfer amount': 'balanceAmount > transferAmount',
  'comparing a balance with a number': 'balanceAmount > 100',
  'taking a balance for a number': 'const n: number = balanceAmount',
  'adding wire forms with add': 'add(transferAmount, balanceAmount)',
  'comparing wire forms with compare': 'compare(transferAmount, balanceAmount)',
  'adding a bare bigint to minor units with add': 'add(minor, 1n)',
  'formatting a balance without reading it': "formatAmount(balanceAmount, 'EUR')",
  'formatting a transfer amount without reading it': "formatAmount(transferAmount, 'EUR')",
  'reading a balance as a transfer amount': 'parseTransferAmount(balanceAmount)',
  'reading a transfer amount as a balance': 'fromBalanceAmount(transferAmount)',
  'taking a bare string for a transfer amount': "const a: TransferAmount = '1250'",
  'taking a bare number for a balance': 'const a: BalanceAmount = 1250',
  'taking a bare bigint for minor units': 'const a: MinorUnits = 1250n',
  'taking a joined string for a transfer amount': 'const a: TransferAmount = transferAmount + transferAmount',
  'taking a transfer amount for a balance': 'const a: BalanceAmount = transferAmount',
  'passing an account id for a transfer id': 'service.getTransfer(scope, { transferId: accountId })',
  'placing an order with the id of a transfer as its account':
    "service.placeOrder(scope, { accountId: transferId, recipientID: 2, amount: '5000', type: 'instant' })",
  'placing an order with a number as its amount':
    "service.placeOrder(scope, { accountId, recipientID: 2, amount: 5000, type: 'instant' })",
  'funding an account with a balance': 'service.fundAccount(scope, { accountId, amount: balanceAmount })',
  'filtering by the id of another kind': 'service.listTransfers(scope, { accountId: userId })',
  'taking a bare number for an id': 'const id: TransferId = 42',
  'taking the id of a response for one of another kind':
    'service.getTransfer(scope, { transferId: 42 }).then(({ id }) => { const other: AccountId = id; })',
  'passing a user id for a workspace id': 'const s: Scope = { workspaceId: userId }',
  'assigning one id to another kind': 'const id: TransferId = accountId',
  'passing an id that may not have been readable':
    "service.getTransfer(scope, { transferId: parseId<TransferId>('x') })",
  'reading an id of no kind': "parseId<number>('1')",
  'converting without naming a rounding': "convert(minor, rateOf('EUR', 'USD', '1'))",
  'converting with a rounding that does not exist': "convert(minor, rateOf('EUR', 'USD', '1'), 'nearest')",
  'naming a withdrawn currency': "const code: CurrencyCode = 'BGN'",
  'refusing for a reason that is not in the table': "new Refusal('because')",
  'naming a transaction status that does not exist': "const status: TransactionStatus = 'done'",
  'taking the direction to be open': "if (transfer.direction === 'both') {}",
  'changing a resource': '(transfer as { readonly amount: TransferAmount }).amount = transferAmount',
  'changing a list in a resource': 'user.edges.roles?.push(user.edges.roles[0]!)',
  'splitting with floating weights': 'split(minor, [0.5, 0.5])',
};

const NEIGHBOURS = {
  'adding amounts that were read':
    'const a: MinorUnits = add(parseTransferAmount(transferAmount), fromBalanceAmount(balanceAmount))',
  'comparing amounts that were read':
    'compare(parseTransferAmount(transferAmount), fromBalanceAmount(balanceAmount)) < 0',
  'comparing minor units with operators': 'minor > 0n && minor < 100n && minor === minorUnits(1n)',
  'adding minor units with an operator': 'const a: MinorUnits = minorUnits(minor + 1n)',
  'formatting what was read': "formatAmount(fromBalanceAmount(balanceAmount), 'EUR', 'ja-JP')",
  'formatting with the currency of a response, which may be missing':
    'const { account } = transfer.edges; if (account) formatAmount(minor, account.edges.currency)',
  'a transfer amount as text': 'const a: string = transferAmount; const b: string = `${transferAmount} cents`',
  'a balance as JSON, or after asking what it is':
    'JSON.stringify({ balanceAmount }); const n: number = typeof balanceAmount === "number" ? balanceAmount : 0',
  'writing wire forms':
    'const a: TransferAmount = toTransferAmount(minor); const b: BalanceAmount = toBalanceAmount(minor)',
  'fixtures in tests':
    "const a = '1250' as TransferAmount; const b = 1250 as BalanceAmount; const c = 1250n as MinorUnits; const d = 1 as TransferId",
  'passing a transfer id for a transfer id': 'service.getTransfer(scope, { transferId })',
  'placing an order with plain values':
    "service.placeOrder(scope, { accountId: 1, recipientID: 2, quoteID: 3, amount: '5000', type: 'instant' })",
  'placing an order with variables of plain types':
    "const n: number = 1; const t: string = '5000'; service.placeOrder(scope, { accountId: n, recipientID: n, amount: t, type: 'instant' })",
  'placing an order with values of responses':
    "service.placeOrder(scope, { accountId, recipientID: 2, amount: transferAmount, type: 'instant', quoteID: undefined })",
  'opening, funding and quoting with plain values':
    "service.openAccount(scope, { productID: 2 }); service.fundAccount(scope, { accountId: 1, amount: '5' }); service.createQuote(scope, { accountID: 1, recipientID: 2, targetAmount: '5' })",
  'changing with plain values':
    "service.changeAccount(scope, { accountId: 1, alias: 'Rent' }); service.changeRecipient(scope, { recipientId: 1, saved: false }); service.cancelOrder(scope, { accountId: 1, orderId: 2 }); service.addTransactionEvent(scope, { transactionId: 1, status: 'ACCC' })",
  'filtering with plain values':
    "service.listTransfers(scope, { accountId: 1, recipientId: 2, cursor: 'a' }); service.listOrders(scope, { placedBy: 3 }); service.listAuditEvents(scope, { actor: 3 }); service.getStatement(scope, { accountId: 1, from: '2026-01-01', to: '2026-02-01' })",
  'reading by plain ids':
    'service.getAccount(scope, { accountId: 1 }); service.getQuote(scope, { quoteId: 1 }); service.getEvent(scope, { eventId: 1 }); service.getWebhookEndpoint(scope, { webhookEndpointId: 1 }); service.listAppUsers(scope, { appId: 1 })',
  'results that keep their types':
    'service.getTransfer(scope, { transferId: 42 }).then(({ id, amount }) => { const same: TransferId = id; const text: TransferAmount = amount; })',
  'leaving parts of a scope undefined': 'const s: Scope = { workspaceId, actor: undefined }',
  'an id as a number': 'const n: number = accountId',
  'an unknown status': "user.status === 'suspended'; transfer.type === 'teleport'",
  'converting with a rounding': "convert(minor, rateOf('EUR', 'USD', '1.0832'), 'half-even').amount < minor",
  'a reason of the table': "const reason: RefusalReason = 'insufficient_funds'; new Refusal(reason)",
};

const SNIPPETS = Object.entries({ ...REJECTED, ...NEIGHBOURS }).map(([name, code], index) => ({
  name,
  path: join(__dirname, `snippet-${index}.ts`),
  text: `${PRELUDE}\n${code};\n`,
}));

const PACKAGE = join(__dirname, '..');

describe('the compiler', () => {
  const errors = compile();

  it.each(Object.keys(REJECTED))('rejects %s', (name) => {
    expect(errors.get(name)).not.toEqual([]);
    expect(errors.get(name)).not.toContainEqual(expect.stringContaining('Cannot find'));
  });

  it.each(Object.keys(NEIGHBOURS))('accepts %s', (name) => {
    expect(errors.get(name)).toEqual([]);
  });
});

/** Compiles every snippet beside the sources, with the settings of the library, and returns the errors. */
function compile(): ReadonlyMap<string, readonly string[]> {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(PACKAGE, 'tsconfig.build.json'),
    { noEmit: true },
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
        throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
      },
    },
  );
  if (config === undefined) throw new Error('tsconfig.build.json cannot be read');
  const options: ts.CompilerOptions = {
    ...config.options,
    composite: false,
    incremental: false,
    noUnusedLocals: false,
  };

  const texts = new Map(SNIPPETS.map(({ path, text }) => [path, text]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists.call(host, path);
  host.readFile = (path) => texts.get(path) ?? readFile.call(host, path);
  host.getSourceFile = (path, language, ...rest) => {
    const text = texts.get(path);
    if (text === undefined) return getSourceFile.call(host, path, language, ...rest);
    return ts.createSourceFile(path, text, language);
  };

  const program = ts.createProgram([...texts.keys()], options, host);
  return new Map(
    SNIPPETS.map(({ name, path }) => {
      const file = program.getSourceFile(path);
      const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
      return [name, found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))];
    }),
  );
}
