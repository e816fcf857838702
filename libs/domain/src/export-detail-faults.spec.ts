import { type ExportLine, exportLine } from './export-lines.js';
import { proveExport } from './prove-export.js';
import { exported, faultOf, SETTLEMENT } from './testing/exported-books.js';

const MOVES = [
  { from: SETTLEMENT, to: 3, amount: 24n },
  ...Array.from({ length: 3 }, () => ({ from: 3, to: SETTLEMENT, amount: 7n })),
];
type Kind = 'recipient' | 'order' | 'execution' | 'conversion' | 'event' | 'transaction';

/** The index of the nth line of a kind. */
const at = (lines: readonly ExportLine[], kind: Kind, nth = 0) =>
  lines.flatMap((line, index) => (kind in line ? [index] : []))[nth]!;
/** Replaces texts in the nth line of a kind. */
const edit = (kind: Kind, nth: number, from: RegExp | string, to: string) => (lines: readonly ExportLine[]) => {
  const index = at(lines, kind, nth);
  const texts = lines.map(exportLine);
  return texts.with(index, texts[index]!.replace(from, to));
};
/** Removes the nth line of a kind, and counts one less in the last line. */
const cut = (kind: Kind, nth: number) => (lines: readonly ExportLine[]) => {
  const shape = new RegExp(`("${kind}s":)(\\d+)`);
  const less = (_: string, name: string, count: string) => `${name}${Number(count) - 1}`;
  const texts = lines.map(exportLine);
  return texts.with(-1, texts.at(-1)!.replace(shape, less)).toSpliced(at(lines, kind, nth), 1);
};
const move =
  (kind: Kind, nth: number, to: (lines: readonly ExportLine[]) => number) => (lines: readonly ExportLine[]) => {
    const index = at(lines, kind, nth);
    const texts = lines.map(exportLine);
    const [moved] = texts.splice(index, 1);
    return texts.toSpliced(to(lines), 0, moved!);
  };

describe('an export with orders, executions, conversions, recipients and events', () => {
  it('is proved, and its lines are counted', async () => {
    const proof = await proveExport((await exported(MOVES, { details: true })).map(exportLine));

    expect(proof).toMatchObject({ recipients: 1, orders: 4, executions: 4, conversions: 3, events: 3 });
  });

  it.each<[string, (lines: readonly ExportLine[]) => readonly string[], RegExp]>([
    [
      'the name of a recipient',
      edit('recipient', 0, 'Ärzte', 'Eve'),
      /^line \d+ has the person of recipient 12, whose digest does not match/,
    ],
    [
      'a digest of a recipient',
      edit('recipient', 0, /("digest":").{64}/, `$1${'0'.repeat(64)}`),
      /recipient 12, whose digest/,
    ],
    [
      'the description of a transfer',
      edit('transaction', 0, 'Rechnung', 'Zahlung'),
      /has the description of transfer 101, whose digest does not match/,
    ],
    [
      'a description of another transfer',
      edit('transaction', 0, '"transferId":101', '"transferId":999'),
      /has transaction 40 with a description of a transfer that it does not have$/,
    ],
    [
      'texts that no digest covers',
      edit('order', 0, /"textsDigest":"[^"]*",/, ''),
      /has the texts of order 499, which no digest covers$/,
    ],
    ['a lost recipient', cut('recipient', 0), /^line \d+ has order 499 with recipient 12, which is not in the export$/],
    [
      'a late recipient',
      move('recipient', 0, (lines) => lines.length - 2),
      /^line \d+ has order 499 with recipient 12/,
    ],
    [
      'the amount of an order',
      edit('order', 0, '"amount":"5"', '"amount":"6"'),
      /has order 499, whose digest does not match/,
    ],
    [
      'the metadata of an order',
      edit('order', 0, '"invoice":"7"', '"invoice":"8"'),
      /has the texts of order 499, whose digest does not match/,
    ],
    [
      'a half character in metadata',
      edit('order', 0, '"invoice":"7"', '"invoice":"\\ud800"'),
      /metadata is missing or/,
    ],
    [
      'a failure of a run that did not fail',
      edit('execution', 0, '"failed"', '"cancelled"'),
      /^line \d+ has failureCode without a failure$/,
    ],
    [
      'a direction that is none',
      edit('transaction', 0, '"debit"', '"both"'),
      /has a direction other than debit or credit$/,
    ],
    ['an order of another account', edit('order', 0, '"accountId":3', '"accountId":1'), /has order 499, whose digest/],
    [
      'a lost order',
      cut('order', 2),
      /^line \d+ has execution 901 of order 501, which is not the order of its transaction$/,
    ],
    [
      'an instant order elsewhere',
      move('order', 2, (lines) => at(lines, 'order')),
      /has order 501 in another place than its type/,
    ],
    ['a lost execution', cut('execution', 2), /^line \d+ follows transaction 42 without its execution$/],
    [
      'a lost execution of an instant order',
      cut('execution', 1),
      /^line \d+ follows transaction 41 without its execution$/,
    ],
    [
      'an execution of another order',
      edit('execution', 2, '"orderId":502', '"orderId":499'),
      /covers another order than 499$/,
    ],
    [
      'an execution of another transaction',
      edit('execution', 2, '"transactionId":42', '"transactionId":43'),
      /does not follow transaction 43$/,
    ],
    [
      'a status that no execution has',
      edit('execution', 2, '"pending"', '"paid"'),
      /status is missing or has the wrong type$/,
    ],
    [
      'a run that was completed without a transaction',
      edit('execution', 0, /"failureCode":"x",(.*)"failed"/, '$1"completed"'),
      /completed without a transaction$/,
    ],
    [
      'the rate of a conversion',
      edit('conversion', 1, '"rate":"160"', '"rate":"159"'),
      /conversion of transaction 42, whose digest/,
    ],
    [
      'a conversion of another transaction',
      edit('conversion', 1, '"transactionId":42', '"transactionId":41'),
      /does not follow transaction 41$/,
    ],
    ['a lost conversion', cut('conversion', 1), /^line \d+ follows transaction 42 without its conversion$/],
    [
      'an event of another transaction',
      edit('event', 1, '"transactionId":42', '"transactionId":41'),
      /has event 702, which does not follow transaction 41$/,
    ],
    ['a lost event', (lines) => lines.map(exportLine).toSpliced(at(lines, 'event', 1), 1), /has 2 events$/],
    [
      'an event twice',
      (lines) => lines.map(exportLine).toSpliced(at(lines, 'event', 1), 0, exportLine(lines[at(lines, 'event', 1)]!)),
      /does not follow in the order of ids$/,
    ],
    [
      'a digest of a recipient in a transfer',
      edit('transaction', 2, /("recipientDigest":")../, '$1zz'),
      /recipientDigest is missing or has the wrong type$/,
    ],
  ])('is refused because of %s', async (_what, forge, problem) => {
    expect((await faultOf(forge(await exported(MOVES, { details: true }))))?.message).toMatch(problem);
  });

  it('is proved without texts that were erased, and counts them', async () => {
    const lines = (await exported(MOVES, { details: true })).map((line): ExportLine => {
      if ('recipient' in line) return { recipient: { ...line.recipient, person: undefined } };
      if ('order' in line) return { order: { ...line.order, texts: undefined } };
      return 'transaction' in line ? { transaction: { ...line.transaction, descriptions: undefined } } : line;
    });

    expect((await proveExport(lines.map(exportLine))).erased).toBe(1 + 1 + MOVES.length);
    expect(lines.map(exportLine).join()).not.toMatch(/Ärzte|DE00|Rechnung|invoice/);
  });

  it('is refused because of a conversion with a recomputed digest', async () => {
    const lines = await exported(MOVES, { details: true });
    const forged = await exported(
      MOVES.map((one) => ({ ...one, amount: 8n })),
      { details: true },
    );
    const other = forged[at(forged, 'conversion', 1)]!;

    const fault = await faultOf(lines.with(at(lines, 'conversion', 1), other).map(exportLine));

    expect(fault?.message).toMatch(/has a conversion of transaction 42, which covers another conversion$/);
  });
});
