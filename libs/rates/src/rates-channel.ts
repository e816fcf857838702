import { channel, type Channel } from 'node:diagnostics_channel';

/** A request for the document of exchange rates. See `channels.ts` of `@banking/postgres`. */
export interface RatesMessage {
  /** RFC 3339, of the document; undefined if the source could not be used. */
  readonly asOf?: string | undefined;
}
export const ratesChannel = channel('banking:rates:document') as Channel<unknown, RatesMessage>;
