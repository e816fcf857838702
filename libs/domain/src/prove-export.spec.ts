import * as fc from 'fast-check';
import { canonicalJson, type CanonicalValue } from './canonical-json.js';
import { ExportFault, type ExportProof, proveExport } from './prove-export.js';
import { ACCOUNTS, exportedText, faultOf, IDLE, type Move, SETTLEMENT, WORKSPACE } from './testing/exported-books.js';

const DETAILED = { details: true };

/** `npm run prove` has the higher number. */
const RUNS = process.env['BANKING_TEST_IN_FULL'] === 'on' ? 500 : 100;

/** Every account but the idle one has seen money. */
const SEEN_BY_ALL: readonly Move[] = [
  ...ACCOUNTS.map((to) => ({ from: SETTLEMENT, to, amount: 8n })),
  ...ACCOUNTS.map((from) => ({ from, to: SETTLEMENT, amount: 7n })),
];

const moves: fc.Arbitrary<Move[]> = fc
  .array(
    fc.record({
      from: fc.constantFrom(...ACCOUNTS),
      to: fc.constantFrom(...ACCOUNTS),
      amount: fc.bigInt({ min: 1n, max: 10n ** 18n }),
    }),
    { maxLength: 12 },
  )
  .map((some) => affordable([...SEEN_BY_ALL, ...some]));

/** Leaves out what would take a customer below zero. */
function affordable(some: readonly Move[]): Move[] {
  const balances = new Map<number, bigint>();
  return some.filter(({ from, to, amount }) => {
    const left = (balances.get(from) ?? 0n) - amount;
    if (from !== SETTLEMENT && left < 0n) return false;
    balances.set(from, left).set(to, (balances.get(to) ?? 0n) + amount);
    return true;
  });
}

/** Fields that no hash covers, and those of an account without transfers. */
const UNCOVERED = [
  ...['header.workspace.name', 'header.exportedAt'],
  ...['transaction.status', 'transaction.updatedAt'],
  ...['order.createdAt', 'execution.id', 'execution.sequence', 'execution.failureCode'],
  ...[
    'execution.scheduledAt',
    'execution.executedAt',
    'event.providerEvent',
    'event.status',
    'event.createdAt',
    'event.id',
  ],
  ...['account.kind of the bank', 'account.id of none', 'account.kind of none', 'account.currencyCode of none'],
];

describe('an export', () => {
  it('proves its accounts and transactions', async () => {
    await fc.assert(
      fc.asyncProperty(moves, async (made) => {
        const proof = await proveExport(await exportedText(made, DETAILED));

        const balance = (id: number) =>
          made.reduce((sum, { from, to, amount }) => sum + (to === id ? amount : 0n) - (from === id ? amount : 0n), 0n);
        expect(proof).toMatchObject({ transactions: made.length, transfers: 2 * made.length });
        expect(proof.workspace).toEqual({ id: WORKSPACE, name: 'Northwind Trading' });
        expect(proof.accounts.map((account) => [account.id, account.balance])).toEqual(
          [...ACCOUNTS, IDLE].map((id) => [id, balance(id)]),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('is refused if one field is changed, by any writer of the line', async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.nat(), fc.nat(), async (made, nthLine, nthField) => {
        const lines = await exportedText(made, DETAILED);
        const at = nthLine % lines.length;
        const parsed = JSON.parse(lines[at]!) as Node;
        const fields = leaves(parsed);
        const { path, owner, name } = fields[nthField % fields.length]!;
        owner[name] = another(owner[name]!);
        const forged = lines.with(at, canonicalJson(parsed as CanonicalValue));

        const isUncovered = UNCOVERED.includes(path + whose(lines[at]!, path));
        expect({ path, found: (await faultOf(forged)) !== undefined }).toEqual({ path, found: !isUncovered });
      }),
      { numRuns: RUNS },
    );
  });

  it('is refused if a field is missing or added', async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.nat(), fc.nat(), fc.boolean(), async (made, nthLine, nthField, isMore) => {
        const lines = await exportedText(made, DETAILED);
        const at = nthLine % lines.length;
        const parsed = JSON.parse(lines[at]!) as Node;
        const fields = leaves(parsed);
        const { owner, name } = fields[nthField % fields.length]!;
        if (isMore) owner['note'] = 'paid twice';
        else delete owner[name];

        const fault = await faultOf(lines.with(at, canonicalJson(parsed as CanonicalValue)));
        expect(fault?.line).toBe(at + 1);
      }),
      { numRuns: RUNS },
    );
  });

  it('is refused if one character is changed, except where no hash covers it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), fc.string({ unit: 'grapheme', maxLength: 1 }), async (nth, place, put) => {
        const lines = await exportedText(SEEN_BY_ALL, DETAILED);
        const at = nth % lines.length;
        const line = lines[at]!;
        const cut = place % line.length;
        const edited = line.slice(0, cut) + put + line.slice(cut + 1);
        fc.pre(edited !== line);

        if ((await faultOf(lines.with(at, edited))) !== undefined) return;
        const [was, is] = [line, edited].map((text) => leaves(JSON.parse(text) as Node));
        const changed = was!.filter(({ value }, index) => value !== is![index]!.value);
        expect(changed.map(({ path }) => UNCOVERED.includes(path + whose(line, path)))).toEqual([true]);
      }),
      { numRuns: RUNS },
    );
  });

  it('is refused if a line is missing or repeated, or if its end is cut off', async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.nat(), async (made, nth) => {
        const lines = await exportedText(made, DETAILED);
        const at = nth % lines.length;

        expect(await faultOf(lines.toSpliced(at, 1))).toBeDefined();
        expect(await faultOf(lines.toSpliced(at, 0, lines[at]!))).toBeDefined();
        expect(await faultOf(lines.slice(0, at))).toEqual(
          new ExportFault(at + 1, 'is missing: the export was cut short'),
        );
      }),
      { numRuns: RUNS },
    );
  });

  it('is refused if two dependent lines are swapped', async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.nat(), fc.nat(), async (made, one, two) => {
        const lines = await exportedText(made, DETAILED);
        const [left, right] = [one % lines.length, two % lines.length];
        const swapped = lines.with(left, lines[right]!).with(right, lines[left]!);

        const [before, after] = [await proveExport(lines), await proveExport(swapped).catch(() => undefined)];
        if (after) expect(byId(after)).toEqual(byId(before));
      }),
      { numRuns: RUNS },
    );
  });
});

type Node = { [name: string]: unknown };

/** Every text and number in a line, and where it is: `transaction.content.transfers.amount`. */
function leaves(node: Node, path = ''): { path: string; owner: Node; name: string; value: unknown }[] {
  return Object.entries(node).flatMap(([name, value]) => {
    const here = Array.isArray(node) ? path : path === '' ? name : `${path}.${name}`;
    return typeof value === 'object' ? leaves(value as Node, here) : [{ path: here, owner: node, name, value }];
  });
}

/** Another value of the same kind. */
function another(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  const text = String(value);
  if (text === 'EUR') return 'USD';
  if (text.startsWith('2026')) return text.replace('2026', '2025');
  return /[0-9]$/.test(text) ? `${text.slice(0, -1)}${(Number(text.at(-1)) + 1) % 10}` : `${text}a`;
}

/** The kind of the account of an account line. */
function whose(line: string, path: string): string {
  if (!path.startsWith('account.')) return '';
  const { account } = JSON.parse(line) as { account: { id: number } };
  return account.id === IDLE ? ' of none' : account.id === SETTLEMENT ? ' of the bank' : ' of a customer';
}

function byId({ accounts, ...proof }: ExportProof) {
  return { ...proof, accounts: accounts.toSorted((left, right) => left.id - right.id) };
}
