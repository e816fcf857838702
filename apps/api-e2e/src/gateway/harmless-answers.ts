/** What an upstream may say and we have not seen: it passes through, byte for byte as JSON. */
export const HARMLESS_ANSWERS: readonly (readonly [what: string, text: string])[] = [
  ['fields nobody knows', '{"id":1,"amount":"1","colour":"blue","edges":{"lender":{"id":9,"amount":1.5}},"list":[null]}'],
  ['words nobody knows', '{"id":1,"amount":"1","direction":"sideways","type":"gift","purpose":"XX999","edges":{"transaction":{"id":1,"status":"maybe"}}}'],
  ['times in another form', '{"id":1,"amount":"1","createdAt":"yesterday"}'],
  ['the required fields and no others', '{"id":1,"amount":"1"}'],
  ['members of all objects', '{"id":1,"amount":"1","__proto__":{"id":2},"constructor":{"prototype":{"id":3}},"toString":"x"}'],
  ['a member twice, the last counts', '{"id":2,"amount":"2","id":1,"amount":"1"}'],
  ['a balance of minus nothing', '{"id":1,"amount":"1","edges":{"balance":{"id":1,"amount":-0}}}'],
  ['an integer written as a decimal', '{"id":1.0,"amount":"1"}'],
  ['wide digits inside a text', '{"id":1,"amount":"1","description":"9007199254740993"}'],
  ['text in every script', '{"id":1,"amount":"1","description":"\\u0000 \\ud83d\\udca3 عربى <script>"}'],
  ['no field we know but those it must have, 10,000 others', `{"id":1,"amount":"1",${Array.from({ length: 10_000 }, (_, at) => `"f${at}":${at}`).join()}}`],
]; // prettier-ignore
