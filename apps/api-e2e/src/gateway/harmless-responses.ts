/** Valid responses with unknown content: forwarded unchanged as JSON. */
export const UNUSUAL_RESPONSES: readonly (readonly [what: string, text: string])[] = [
  ['unknown fields', '{"id":1,"amount":"1","colour":"blue","edges":{"lender":{"id":9,"amount":1.5}},"list":[null]}'],
  [
    'unknown values',
    '{"id":1,"amount":"1","direction":"sideways","type":"gift","purpose":"XX999","edges":{"transaction":{"id":1,"status":"maybe"}}}',
  ],
  ['times in another form', '{"id":1,"amount":"1","createdAt":"yesterday"}'],
  [
    'a fee and limits in whole units',
    '{"id":1,"amount":"1","feeAmount":"12.50","edges":{"account":{"id":1,"name":"A","status":"open","type":"X","edges":{"balances":[],"currency":{"id":1,"code":"X","name":"X","decimals":18,"swiftMinimumWithdrawalAmount":"50.00 USD"},"product":{"id":1,"name":"P","edges":{"currency":{"id":0,"code":"","name":""}}}}}}}',
  ],
  [
    'the largest id',
    '{"id":1,"amount":"1","edges":{"recipient":{"id":9007199254740991,"name":"R","accountCode":"1"}}}',
  ],
  [
    'fields of ours with other types',
    '{"id":1,"amount":"1","edges":{"transaction":{"id":1,"status":"x","orderID":"o-1","edges":{"transfers":[{"id":"t","amount":5}],"internationalRemittance":{"id":1,"edges":{"events":[{"id":1,"status":"x","reasonCode":5}]}}}}}}',
  ],
  ['the required fields and no others', '{"id":1,"amount":"1"}'],
  [
    'members of all objects',
    '{"id":1,"amount":"1","__proto__":{"id":2},"constructor":{"prototype":{"id":3}},"toString":"x"}',
  ],
  ['a member twice, the last counts', '{"id":2,"amount":"2","id":1,"amount":"1"}'],
  ['a balance of minus nothing', '{"id":1,"amount":"1","edges":{"balance":{"id":1,"amount":-0}}}'],
  ['an integer written as a decimal', '{"id":1.0,"amount":"1"}'],
  ['wide digits inside a text', '{"id":1,"amount":"1","description":"9007199254740993"}'],
  ['text in every script', '{"id":1,"amount":"1","description":"\\u0000 \\ud83d\\udca3 عربى <script>"}'],
  [
    'no field we know but those it must have, 10,000 others',
    `{"id":1,"amount":"1",${Array.from({ length: 10_000 }, (_, at) => `"f${at}":${at}`).join()}}`,
  ],
];
