import {
  add,
  minorUnits,
  type Movement,
  parseTransferAmount,
  type Statement,
  subtract,
  toBalanceAmount,
  type TransferAmount,
} from '@banking/domain';

/** A statement of invented movements. Their other fields do not affect their amounts. */
export function statementOf(
  movements: readonly Partial<Movement>[],
  { currency = 'EUR', alias = 'Main', opening = 0 } = {},
) {
  let balance = minorUnits(BigInt(opening));
  const lines = movements.map((movement, index) => {
    const { direction = 'credit', amount = '100' as TransferAmount } = movement;
    balance = (direction === 'credit' ? add : subtract)(balance, parseTransferAmount(amount));
    const createdAt = '2026-11-21T09:30:00.123456Z';
    return {
      id: index + 1,
      transactionID: 9,
      type: 'internal',
      valueDate: '2026-11-21',
      createdAt,
      ...movement,
      direction,
      amount,
      balanceAfter: toBalanceAmount(balance),
    };
  });
  const account = {
    id: 2,
    name: 'Northwind',
    code: 'NW0000000002',
    alias,
    edges: { currency: { id: 978, code: currency, name: currency } },
  };
  const period = { from: '2026-11-01', to: '2026-12-01', basis: 'valueDate', edges: { account } };
  return {
    ...period,
    openingBalance: opening,
    closingBalance: toBalanceAmount(balance),
    movements: lines,
  } as unknown as Statement;
}
