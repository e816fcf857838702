import { exportLine } from './export-lines.js';
import { LINE_LENGTH_MAX, proveExport } from './prove-export.js';
import { exported, exportedText, faultOf, type Move, SETTLEMENT } from './testing/exported-books.js';
import { type TransactionContent, transactionHash, type TransferContent } from './transaction-hash.js';

const GIFT: Move = { from: SETTLEMENT, to: 3, amount: 7n };
const SPENDING: readonly Move[] = [GIFT, ...Array.from({ length: 2 }, () => ({ from: 3, to: SETTLEMENT, amount: 2n }))];

describe('an edited export with recomputed hashes', () => {
  const first = (content: TransactionContent, edit: Partial<TransferContent>) => ({
    ...content,
    transfers: content.transfers.map((transfer, nth) => (nth === 0 ? { ...transfer, ...edit } : transfer)),
  });
  const all = (content: TransactionContent, edit: Partial<TransferContent>) => ({
    ...content,
    transfers: content.transfers.map((transfer) => ({ ...transfer, ...edit })),
  });

  it.each<[string, (content: TransactionContent) => TransactionContent, RegExp]>([
    [
      'the link of the next',
      (content) => all(content, { type: 'gift' }),
      /^line 9 .* which does not follow the previous trans/,
    ],
    ['a sum', (content) => first(content, { amount: '8' }), /^line 8 .* out of balance by -6 EUR$/],
    ['nothing moved', (content) => ({ ...content, transfers: [] }), /^line 8 .* without transfers$/],
    ['a stranger', (content) => all(content, { accountId: 77 }), /^line 8 .* account 77, which is not in the export$/],
    ['the workspace', (content) => ({ ...content, workspaceId: 8 }), /^line 8 .* of another workspace$/],
    [
      'the currency',
      (content) => all(content, { currencyCode: 'USD' }),
      /^line 8 .* in USD on account 1, which has another/,
    ],
    ['the kind', (content) => all(content, { accountId: SETTLEMENT }), /^line 8 .* account of kind "settlement"$/],
    [
      'a version',
      (content) => first(content, { accountVersion: 3 }),
      /^line 8 has version 3 of account 3 where 2 must/,
    ],
    [
      'a balance',
      (content) => first(content, { balanceAfter: '0' }),
      /^line 8 .* with the balance 0 where the transfers add up to 5/,
    ],
    [
      'a link cut',
      (content) => ({ ...content, previous: [] }),
      /^line 8 .* which does not link exactly its customer accounts/,
    ],
    [
      'a link of an account elsewhere',
      (content) => ({ ...content, previous: [{ accountId: 4, hash: '' }] }),
      /^line 8 .* which does not follow the previous transaction of account 3$/,
    ],
  ])('is refused because of %s', async (_what, edit, problem) => {
    const lines = await exported(SPENDING);
    const victim = lines[7]!;
    if (!('transaction' in victim)) throw new Error('line 8 is the second transaction');
    const content = edit(victim.transaction.content);
    const transaction = { ...victim.transaction, content, hash: await transactionHash(content) };

    const fault = await faultOf(lines.with(7, { transaction }).map(exportLine));

    expect(fault?.message).toMatch(problem);
  });

  it('is refused because of the claimed head after an edit of the latest transaction', async () => {
    const [edited, claimed] = [await exported([GIFT]), await exportedText([{ ...GIFT, amount: 8n }])];
    const accounts = edited.map(exportLine).slice(1, 6);

    const heads = await faultOf([claimed[0]!, ...accounts, ...claimed.slice(6)]);

    expect(heads?.message).toMatch(/^line 8 ends account 1 with the balance "-8" instead of the claimed "-7"$/);
  });

  it('is refused if a customer account is below zero, and not if one of the bank is', async () => {
    expect((await faultOf(await exportedText([GIFT, { ...GIFT, from: 3, to: 4, amount: 8n }])))?.message).toBe(
      'line 8 has transfer 102, which leaves account 3 below zero',
    );
    expect(await faultOf(await exportedText([GIFT]))).toBeUndefined();
  });

  it('is consistent if it is completely invented, but has other heads', async () => {
    const [told, made] = [await exported([GIFT]), await exported([{ ...GIFT, amount: 8n }])];
    const [seen, read] = [await proveExport(told.map(exportLine)), await proveExport(made.map(exportLine))];

    expect(read.accounts[1]).toMatchObject({ id: 3, version: 1, head: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(read.accounts[1]?.head).not.toBe(seen.accounts[1]?.head);
  });
});

describe('invalid lines of an export', () => {
  it.each<[string, (lines: readonly string[]) => readonly string[], RegExp]>([
    ['none at all', () => [], /^line 1 is missing: the export was cut short$/],
    ['a statement', () => ['Dear customer'], /^line 1 is not JSON$/],
    ['JSON of another kind', () => ['[]'], /^line 1 is not a line of an export: the line is missing/],
    ['an unknown record', () => ['{"balance":1}'], /^line 1 is none of the lines of an export$/],
    ['no header', (lines) => lines.slice(1), /^line 1 is not a header/],
    ['two headers', (lines) => lines.toSpliced(1, 0, lines[0]!), /^line 2 is a second header$/],
    [
      'a later version',
      (lines) => [lines[0]!.replace('"formatVersion":1', '"formatVersion":2')],
      /banking-export version 1$/,
    ],
    ['an empty line', (lines) => [...lines, ''], /^line 9 follows the end/],
    ['an account twice', (lines) => lines.toSpliced(2, 0, lines[1]!), /^line 3 has account 1 twice$/],
    ['an account late', (lines) => lines.toSpliced(7, 0, lines[1]!), /^line 8 has account 1 after transactions$/],
    ['a line without end', () => [' '.repeat(LINE_LENGTH_MAX + 1)], /^line 1 has more than 1000000 characters$/],
    ['a deep nest', () => [`{"account":${'['.repeat(400_000)}`], /^line 1 is not JSON$/],
    [
      'half a character',
      (lines) => lines.with(0, lines[0]!.replace('Northwind', '\\ud800')),
      /^line 1 .* name is miss/,
    ],
    [
      'a name that moves the cursor',
      (lines) => lines.with(0, lines[0]!.replace('Northwind', '\\u001b[2J')),
      /^line 1 .* name is miss/,
    ],
    ['spaces', (lines) => lines.with(0, lines[0]!.replace(':', ': ')), /^line 1 has a field that is not known, or is/],
  ])('are refused: %s', async (_what, edit, problem) => {
    expect((await faultOf(edit(await exportedText([GIFT]))))?.message).toMatch(problem);
  });
});
