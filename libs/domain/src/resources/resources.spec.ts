import { join } from 'node:path';
import * as ts from 'typescript';

/**
 * The published tables, field by field: `name: kind`, with `?` where the interface does not require it. Nested records
 * are under `edges`. `Corridor` is required nowhere but in its id. Marked `ours`: additive, not published.
 */
const PUBLISHED: Readonly<Record<string, string>> = {
  Currency: `id: integer, code: string, name: string, symbol?: string, decimals?: integer,
    swiftMinimumWithdrawalAmount?: string, createdAt?: string, updatedAt?: string`,
  Product: `id: integer, name: string, description?: string, createdAt?: string, updatedAt?: string,
    edges.currency: object`,
  App: `id: integer, name: string, createdAt?: string`,
  User: `id: integer, email: string, status?: string, userType?: string, createdAt?: string, edges.roles?: array`,
  Role: `id: integer, role: string, createdAt?: string, updatedAt?: string, edges.workspace: object`,
  Workspace: `id: integer, name: string, type?: string, createdAt?: string, updatedAt?: string`,
  Corridor: `id: integer, destinationCountry?: string, destinationCurrencyID?: integer, limitCurrencyID?: integer,
    payoutMethod?: string, beneficiaryAccountType?: string, routingCodeType?: string, deliveryTAT?: string,
    minimumAmount?: string, maximumAmount?: string, enabled?: boolean, createdAt?: string, updatedAt?: string,
    edges.destinationCurrency?: object, edges.limitCurrency?: object`,
  Transfer: `id: integer, amount: string, description?: string, direction?: string, type?: string, purpose?: string,
    feeAmount?: string, createdAt?: string, updatedAt?: string, edges.account?: object, edges.balance?: object,
    edges.recipient?: object, edges.transaction?: object`,
  Account: `id: integer, name: string, status: string, type: string, alias?: string, code?: string,
    createdAt?: string, updatedAt?: string, edges.balances: array, edges.currency: object, edges.product: object`,
  Balance: `id: integer, amount: integer, createdAt?: string, updatedAt?: string`,
  Recipient: `id: integer, name: string, accountCode: string, alias?: string, saved?: boolean, createdAt?: string,
    updatedAt?: string, edges.bank?: object, edges.beneficiary?: object, edges.currency?: object`,
  Bank: `id: integer, name: string, countryCode?: string, swiftCode?: string, createdAt?: string, updatedAt?: string`,
  Beneficiary: `id: integer, data?: object, createdAt?: string, updatedAt?: string`,
  Transaction: `id: integer, status: string, hash?: string, createdAt?: string, updatedAt?: string,
    edges.internationalRemittance?: object, edges.transfers?: array`,
  InternationalRemittance: `id: integer, createdAt?: string, updatedAt?: string, edges.events?: array`,
  RemittanceEvent: `id: integer, status: string, message?: string, createdAt?: string, lastUpdatedAt?: string`,
};

const OURS: Readonly<Record<string, string>> = {
  Corridor: 'fee?: object',
  Recipient: 'verification?: object',
  RemittanceEvent: 'reasonCode?: string',
  Transaction: 'orderID?: integer, returnOf?: integer, returnedBy?: integer',
};

const PACKAGE = join(__dirname, '..', '..');

describe('a resource', () => {
  const { checker, exported } = compile();

  it.each(Object.keys(PUBLISHED))('%s has the fields of the published interface, and no others', (name) => {
    const type = exported.get(name);
    const wanted = [PUBLISHED[name], OURS[name]].flatMap((list) => list?.split(',') ?? []).map((field) => field.trim());

    expect(type && fields(checker, type).sort()).toEqual(wanted.sort());
  });

  it.each(Object.keys(PUBLISHED))('%s can be read and not changed', (name) => {
    const declared = exported.get(name)?.symbol.declarations?.[0];
    if (declared === undefined || !ts.isInterfaceDeclaration(declared)) throw new Error(`${name} is not an interface`);

    expect(declared.members.every((member) => ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Readonly)).toBe(
      true,
    );
  });
});

/** The fields of a resource in the notation of the tables, with the nested ones. */
function fields(checker: ts.TypeChecker, type: ts.Type, prefix = ''): string[] {
  return type.getProperties().flatMap((property) => {
    const value = checker.getNonNullableType(checker.getTypeOfSymbol(property));
    if (property.name === 'edges') return fields(checker, value, 'edges.');
    const mark = property.flags & ts.SymbolFlags.Optional ? '?' : '';
    return [`${prefix}${property.name}${mark}: ${kind(checker, value)}`];
  });
}

/** The JSON type of a type, without its brand or open end. */
function kind(checker: ts.TypeChecker, type: ts.Type): string {
  if (checker.isArrayType(type)) return 'array';
  const flags = flagsWithin(type);
  if (flags & ts.TypeFlags.StringLike) return 'string';
  if (flags & ts.TypeFlags.NumberLike) return 'integer';
  return flags & ts.TypeFlags.BooleanLike ? 'boolean' : 'object';
}

function flagsWithin(type: ts.Type): number {
  if (!type.isUnionOrIntersection()) return type.flags;
  return type.types.reduce((flags, part) => flags | flagsWithin(part), 0);
}

function compile(): { readonly checker: ts.TypeChecker; readonly exported: ReadonlyMap<string, ts.Type> } {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(PACKAGE, 'tsconfig.build.json'),
    { noEmit: true },
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
        throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
      },
    },
  );
  const index = join(PACKAGE, 'src', 'index.ts');
  const program = ts.createProgram([index], { ...config?.options, composite: false, incremental: false });
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(index);
  const symbol = file && checker.getSymbolAtLocation(file);
  if (symbol === undefined) throw new Error('index.ts exports nothing');
  const types = checker.getExportsOfModule(symbol).map((entry) => {
    const target = entry.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(entry) : entry;
    return [entry.name, checker.getDeclaredTypeOfSymbol(target)] as const;
  });
  return { checker, exported: new Map(types) };
}
