import {
  fromBalanceAmount,
  minorUnits,
  type MinorUnits,
  type Movement,
  parseTransferAmount,
  Refusal,
  type Statement,
  toDecimal,
} from '@banking/domain';
import { csvHead, csvRows, Numeral } from '../http/csv.js';
import { type PagePlace, StatementError } from './statement-file.js';

const COLUMNS = [
  'line',
  'accountCode',
  'accountAlias',
  'currency',
  'id',
  'transactionID',
  'createdAt',
  'valueDate',
  'type',
  'direction',
  'description',
  'purpose',
  'recipientName',
  'amount',
  'amountMinorUnits',
  'feeAmount',
  'feeAmountMinorUnits',
  'balance',
  'balanceMinorUnits',
  'orderID',
  'returnOf',
  'returnedBy',
] as const;

/** A row. A missing value is an empty cell. */
type Row = Partial<Record<(typeof COLUMNS)[number], string | number | Numeral>>;

/**
 * Writes a page of a statement as a part of a table: an opening row, a row for each movement, and a closing row.
 *
 * `amount` is signed and in whole units with the decimals of the currency. It is the opening balance in the opening row, and empty in
 * the closing row, so the column adds up to the closing balance in `balance`. Only the first page has the column names and the opening row,
 * and only the last page the closing row, so the pages one after another are the table of the whole statement.
 *
 * @throws StatementError for a currency without known decimals, or an amount outside the range of the ledger
 */
export function statementCsv(statement: Statement, page: PagePlace = { isFirst: true, isLast: true }): string {
  try {
    return tableOf(statement, page);
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    throw new StatementError(`the statement cannot be written as a table: ${cause.reason}`, { cause });
  }
}

function tableOf(statement: Statement, { isFirst, isLast }: PagePlace): string {
  const { account } = statement.edges;
  const { code: currency } = account.edges.currency;
  const dated = (end: string): Row => (statement.basis === 'booking' ? { createdAt: end } : { valueDate: end });
  const amounts = <T extends 'amount' | 'feeAmount' | 'balance'>(name: T, value: MinorUnits): Row => ({
    [name]: new Numeral(toDecimal(value, currency)),
    [`${name}MinorUnits`]: new Numeral(value.toString()),
  });
  const opening = fromBalanceAmount(statement.openingBalance);
  const first: Row = {
    line: 'opening',
    ...dated(statement.from),
    ...amounts('amount', opening),
    ...amounts('balance', opening),
  };
  const last: Row = {
    line: 'closing',
    ...dated(statement.to),
    ...amounts('balance', fromBalanceAmount(statement.closingBalance)),
  };
  const rows: Row[] = [
    ...(isFirst ? [first] : []),
    ...statement.movements.map((movement) => ({
      line: 'movement',
      ...textsOf(movement),
      ...amounts('amount', signed(movement)),
      ...(movement.feeAmount !== undefined && amounts('feeAmount', parseTransferAmount(movement.feeAmount))),
      ...amounts('balance', fromBalanceAmount(movement.balanceAfter)),
    })),
    ...(isLast ? [last] : []),
  ];
  const common = { accountCode: account.code ?? '', accountAlias: account.alias ?? '', currency };
  const written = csvRows(COLUMNS, rows, common);
  return isFirst ? csvHead(COLUMNS) + written : written;
}

/** The values of a movement besides its amounts. Other fields of an upstream have no column. */
function textsOf({
  id,
  transactionID,
  createdAt,
  valueDate,
  type,
  direction,
  description,
  purpose,
  recipientName,
  orderID,
  returnOf,
  returnedBy,
}: Movement) {
  const texts = Object.entries({ description, purpose, recipientName }).filter(([, text]) => text !== undefined);
  const links = Object.entries({ orderID, returnOf, returnedBy }).filter(([, link]) => typeof link === 'number');
  const values = [...texts, ...links];
  return { id, transactionID, createdAt, valueDate, type, direction, ...(Object.fromEntries(values) as Row) };
}

function signed({ direction, amount }: Movement): MinorUnits {
  const value = parseTransferAmount(amount);
  return direction === 'credit' ? value : minorUnits(-value);
}
