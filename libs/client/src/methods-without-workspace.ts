import type { App, AppId, Corridor, CorridorQuery, PlainNumber, Product, RecipientSchema, User } from '@banking/domain';
import type { RemoteBankingService } from './remote-banking-service.js';
import type { CallOptions } from './transport.js';

/** The apps of the caller. */
export interface AppMethods {
  list(options?: CallOptions): Promise<readonly App[]>;
  /** The users of an app with their roles; all of them for an administrator of any workspace of the app. */
  users(appId: AppId | PlainNumber, options?: CallOptions): Promise<readonly User[]>;
}

/** The products that accounts can be opened for. */
export interface ProductMethods {
  list(options?: CallOptions): Promise<readonly Product[]>;
}

/** The corridors that international recipients are paid over. */
export interface CorridorMethods {
  /** The corridors to a country, an ISO 3166-1 code of two or three letters: `corridors.list('DE')`. */
  list(country: string, options?: CallOptions): Promise<readonly Corridor[]>;
}

/** The details that corridors require of a beneficiary, as JSON Schemas for a form. */
export interface RecipientSchemaMethods {
  /** The schemas of a corridor: `recipientSchemas.list({ countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' })`. */
  list(query: CorridorQuery, options?: CallOptions): Promise<readonly RecipientSchema[]>;
}

/** The purposes of a payment. */
export interface PurposeMethods {
  /** The texts of the purpose codes, by code. An order has one of them as `purposeCode`. */
  list(options?: CallOptions): Promise<Readonly<Record<string, string>>>;
}

/** The operations that belong to no workspace. Their lists have no pages, so each is an array. */
export interface MethodsWithoutWorkspace {
  readonly apps: AppMethods;
  readonly products: ProductMethods;
  readonly corridors: CorridorMethods;
  readonly recipientSchemas: RecipientSchemaMethods;
  readonly purposes: PurposeMethods;
}

export const methodsWithoutWorkspace = (service: RemoteBankingService): MethodsWithoutWorkspace => ({
  apps: {
    list: (options) => service.listApps({}, options),
    users: (id, options) => service.listAppUsers({}, { appId: id }, options),
  },
  products: { list: (options) => service.listProducts({}, options) },
  corridors: { list: (country, options) => service.listCorridors({}, { country }, options) },
  recipientSchemas: { list: (query, options) => service.listRecipientSchemas({}, query, options) },
  purposes: { list: (options) => service.listPurposes({}, options) },
});
