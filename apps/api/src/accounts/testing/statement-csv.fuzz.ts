import { RemoteBankingService } from '@banking/client';
import type { AccountId, Statement, WorkspaceId } from '@banking/domain';
import { responseValidator } from '../../gateway/validate-response.js';
import { statementCsv, StatementError, statementFileName } from '../statement-csv.js';

const inspect = responseValidator();
/** The beginning of a cell that a spreadsheet would calculate. */
const FORMULA = /^[ "\t\r\n]*[=+\-@＝＋－＠]/;
const TEXT_COLUMNS = ['accountCode', 'accountAlias', 'type', 'description', 'purpose', 'recipientName'] as const;

/** The statement in a response of an upstream, as a gateway accepts it. Our own books write no other forms. */
async function statementIn(input: string): Promise<Statement | undefined> {
  const response = {
    status: 200,
    headers: { get: (name: string) => (name.toLowerCase() === 'content-type' ? 'application/json' : null) },
    arrayBuffer: async () => new Uint8Array(Buffer.from(input)).buffer,
  };
  const fetch = async () => response;
  const client = new RemoteBankingService({ baseUrl: 'http://x.example', token: 'a', retries: 0, fetch, inspect });
  const query = { accountId: 1 as AccountId, from: '2026-01-01', to: '2026-12-31' };
  try {
    return await client.getStatement({ workspaceId: 1 as WorkspaceId }, query as never);
  } catch {
    // Other targets have the errors of the client.
    return undefined;
  }
}

async function check(input: string): Promise<'accepted' | 'refused'> {
  const statement = await statementIn(input);
  if (statement === undefined) return 'refused';
  if (!/^[A-Za-z0-9.+_-]+$/.test(statementFileName(statement))) throw new Error('the name of the file is not plain');
  let text: string;
  try {
    text = statementCsv(statement);
  } catch (error) {
    if (error instanceof StatementError) return 'refused';
    throw error;
  }
  checkTable(text, statement);
  return 'accepted';
}

/** The table is RFC 4180 with the values of the statement, and no cell is a formula in any common program. */
function checkTable(text: string, statement: Statement): void {
  if (!text.startsWith('\ufeff') || !text.endsWith('\r\n')) throw new Error('the table has no begin or no end');
  const [names = [], ...rows] = readTable(text.slice(1));
  if (rows.some((row) => row.length !== names.length)) throw new Error('a row has another number of cells');
  if (rows.length !== statement.movements.length + 2) throw new Error('the table has another number of rows');
  const records = rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? ''])));
  const { account } = statement.edges;
  statement.movements.forEach((movement, index) => {
    const record = records[index + 1] ?? {};
    const sign = movement.direction === 'credit' || movement.amount === '0' ? '' : '-';
    if (record['amountMinorUnits'] !== `${sign}${movement.amount}`) throw new Error('an amount is not exact');
    if (record['balanceMinorUnits'] !== String(movement.balanceAfter).replace(/^-0$/, '0')) {
      throw new Error('a balance is not exact');
    }
    const values = { ...movement, accountCode: account.code, accountAlias: account.alias } as Record<string, unknown>;
    for (const name of TEXT_COLUMNS) {
      const cell = record[name] ?? '';
      if (FORMULA.test(cell)) throw new Error(`${name} is a formula`);
      if (withoutQuotes(cell) !== withoutQuotes(values[name] ?? '')) throw new Error(`${name} is another text`);
    }
  });
  // Programs that split at other characters ignore our quotes.
  if (
    text
      .split(/[;\t]/)
      .slice(1)
      .some((cell) => FORMULA.test(cell))
  )
    throw new Error('a part of a cell is a formula');
}

/** Our apostrophes against formulas are the only difference between a cell and its value. */
const withoutQuotes = (value: unknown) => String(value).replaceAll("'", '');

/** RFC 4180 and nothing else. @throws Error for any other text */
function readTable(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  while (cell.lastIndex < text.length) {
    const [, quoted, plain = '', end] = cell.exec(text) ?? [];
    if (end === undefined) throw new Error('the table is not RFC 4180');
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

const movement = {
  ...{ id: 1, transactionID: 1, direction: 'debit', amount: '1250', type: 'payout', description: 'Rent, "March"' },
  ...{ valueDate: '2026-03-01', createdAt: '2026-03-01T09:30:00.123456Z', balanceAfter: -1250, recipientName: '=Bob' },
};
const statement = {
  ...{ from: '2026-01-01', to: '2026-12-31', basis: 'valueDate', openingBalance: 0, closingBalance: -1250 },
  movements: [movement, { ...movement, id: 2, direction: 'credit', feeAmount: '5', orderID: 3, returnOf: 1 }],
  edges: {
    account: {
      id: 1,
      name: 'A',
      code: 'NW01',
      alias: 'Main\n',
      edges: { currency: { id: 978, code: 'EUR', name: 'E' } },
    },
  },
};

export const target = {
  examples: [
    JSON.stringify(statement),
    JSON.stringify({ ...statement, basis: 'booking', movements: [] }),
    JSON.stringify({ ...statement, movements: [movement, { ...movement, description: ';=1', purpose: "'+1\t@" }] }),
  ],
  tokens: [
    ...['\r\n', '\t', ';', '"', '""', ',', '=1+1', '＝1', '@', "'=", '\ufeff', 'JPY', 'KWD', 'CLF', 'XXX', 'EUR'],
    ...['code', 'alias', 'description', 'purpose', 'recipientName', 'feeAmount', 'returnedBy', 'booking', 'credit'],
    ...['9223372036854775807', '9223372036854775808', '9007199254740991'],
  ],
  lengthMax: 32_768,
  check,
};
