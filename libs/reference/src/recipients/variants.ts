import { CORRIDORS } from '../corridors/all-corridors.js';
import type { CorridorEntry } from '../corridors/corridor-entry.js';
import { accountFormatOf } from './accounts.js';
import type { Format } from './format.js';
import { ibanFormatOf } from './iban-formats.js';
import { PIX_KEYS } from './pix.js';
import { routingCodeOf } from './routing-codes.js';

/** One form of recipient details for a corridor. */
export interface Variant {
  readonly corridor: CorridorEntry;
  readonly account: Format;
  readonly routing: {
    /** The value of `routingCodeType1`. */
    readonly type: string;
    /** The format of `routingCodeValue1`, or its only allowed text. */
    readonly code: Format | string;
  };
}

/** The variants of all corridors, in the order of the corridors. */
export const VARIANTS: readonly Variant[] = CORRIDORS.flatMap(variantsOf);

/**
 * The variants of a corridor: one with its routing code and, for reais in Brazil, one for each kind of PIX key that such a
 * beneficiary can have.
 *
 * @throws Error for a corridor without a format of its account number or routing code
 */
function variantsOf(corridor: CorridorEntry): Variant[] {
  const { destinationCountry, payoutMethod, routingCodeType, beneficiaryAccountType } = corridor;
  const byIban = routingCodeType === 'SWIFT' ? ibanFormatOf(destinationCountry) : undefined;
  const account = byIban ?? accountFormatOf(destinationCountry, payoutMethod);
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
