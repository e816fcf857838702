import { CORRIDORS } from '../corridors/all-corridors.js';
import type { CorridorEntry } from '../corridors/corridor-entry.js';
import { accountOf } from './accounts.js';
import type { Format } from './format.js';
import { ibanOf } from './iban.js';
import { PIX_KEYS } from './pix.js';
import { routingCodeOf } from './routing-codes.js';

/** One way to write down who is paid over a corridor. */
export interface Variant {
  readonly corridor: CorridorEntry;
  readonly account: Format;
  readonly routing: {
    /** What stands in `routingCodeType1`. */
    readonly type: string;
    /** How `routingCodeValue1` is written, or the one text it can be. */
    readonly code: Format | string;
  };
}

/** Every way over every corridor, in the order of the corridors. */
export const VARIANTS: readonly Variant[] = CORRIDORS.flatMap(variantsOf);

/**
 * The ways to write down who is paid over a corridor: one by its routing code and, for reais at home, one for each
 * kind of PIX key that such a beneficiary can hold.
 *
 * @throws Error for a route whose formats nobody has written down: every corridor of ours has them, so it is a bug.
 */
function variantsOf(corridor: CorridorEntry): Variant[] {
  const { destinationCountry, payoutMethod, routingCodeType, beneficiaryAccountType } = corridor;
  const byIban = routingCodeType === 'SWIFT' ? ibanOf(destinationCountry) : undefined;
  const account = byIban ?? accountOf(destinationCountry, payoutMethod);
  const code = routingCodeOf(destinationCountry, routingCodeType);
  if (account === undefined || code === undefined) {
    throw new Error(`no format for ${destinationCountry} ${payoutMethod} ${routingCodeType}`);
  }

  const keys = PIX_KEYS.filter(({ heldBy }) => takesPix(corridor) && heldBy.includes(beneficiaryAccountType));
  return [
    { corridor, account, routing: { type: routingCodeType, code } },
    ...keys.map(({ kind, key }) => ({ corridor, account: key, routing: { type: 'PIX KEY', code: kind } })),
  ];
}

function takesPix({ destinationCountry, destinationCurrency, payoutMethod }: CorridorEntry): boolean {
  return destinationCountry === 'BR' && destinationCurrency === 'BRL' && payoutMethod === 'LOCAL';
}
