import { minorUnits } from '@banking/domain';
import {
  type OpenRails,
  type PaymentContent,
  type PayoutDestination,
  type Rail,
  type RailRouting,
  SandboxRail,
  traceNetwork,
  type VerifyPayee,
} from '@banking/payouts';
import type { Database } from '@banking/postgres';
import { ConfigError } from '@banking/process';
import { HttpRail } from './http-rail.js';
import { Iso20022Rail } from './iso20022/iso20022-rail.js';
import { faultInFile } from './iso20022/payment-content.js';
import { BankFiles } from './iso20022/receive-files.js';
import { type BankAccount, dialectOf, type RailConfig } from './rail-config.js';

/** The payment networks of a deployment, in the order in which they are asked for. */
export class Rails implements RailRouting {
  constructor(readonly configured: readonly RailConfig[]) {}

  get names(): readonly string[] {
    return this.configured.map(({ name }) => name);
  }

  /** The bank accounts of all networks, in their order: what payers pay to. */
  get bankAccounts(): readonly (BankAccount & { readonly rail: string })[] {
    return this.configured.flatMap(({ name: rail, ...config }) =>
      'accounts' in config ? config.accounts.map((account) => ({ ...account, rail })) : [],
    );
  }

  /** The first network that serves the destination. */
  railFor(destination: PayoutDestination): string | undefined {
    return this.networkOf(destination)?.name;
  }

  /** SWIFT (CBPR+) refuses addresses without elements since November 2026. An adapter over HTTP may have another way. */
  needsPostalAddress(destination: PayoutDestination): boolean {
    return destination.payoutMethod === 'SWIFT' && isOfFiles(this.networkOf(destination));
  }

  /** What a file cannot carry is rejected after the debit, and its fee is kept. */
  faultOf(destination: PayoutDestination, creditor: PaymentContent['creditor']): string | undefined {
    const config = this.networkOf(destination);
    if (config?.kind !== 'iso20022') return undefined;
    const { currency, payoutMethod } = destination;
    return faultInFile(
      { amount: minorUnits(1n), currency, creditor, payoutMethod },
      config.accounts,
      dialectOf(config),
    );
  }

  /**
   * Several databases cannot share the files of a bank: each would take files of the others, and none has all payments.
   *
   * @throws ConfigError with a line for each network that has files
   */
  refuseSeveralDatabases(): void {
    const faults = this.configured
      .filter(({ kind }) => kind === 'iso20022')
      .map(
        ({ name }) =>
          `RAILS_FILE has the rail ${name} of kind iso20022, whose files one database writes and reads. Connect this bank by an adapter ` +
          '(kind: http), or run a deployment of one database.',
      );
    if (faults.length > 0) throw new ConfigError(faults);
  }

  /** Opens the networks that need no restart to be called. @param database as the worker */
  open(database: Database): OpenRails {
    return new Map(this.configured.map((rail) => [rail.name, openRail(rail, database)]));
  }

  /** Asks the network of a destination about a payee. One of files is not asked, because it cannot tell. */
  payeeVerifier(database: Database): VerifyPayee {
    return async (destination, payee, signal) => {
      const config = this.networkOf(destination);
      if (!config || isOfFiles(config)) return undefined;
      const rail = openRail(config, database);
      return traceNetwork({ rail: config.name, operation: 'verify', signal }, async () =>
        rail.verifyPayee?.(payee, signal),
      );
    };
  }

  private networkOf(destination: PayoutDestination): RailConfig | undefined {
    return this.configured.find((rail) => isServed(rail, destination));
  }
}

const isOfFiles = (rail: RailConfig | undefined): boolean => rail?.kind === 'iso20022';

function isServed(rail: RailConfig, { country, currency, payoutMethod }: PayoutDestination): boolean {
  // A payment is made from an account in its currency.
  if (rail.kind !== 'sandbox' && !rail.accounts.some((account) => account.currency === currency)) return false;
  const { serves = [{}] } = rail;
  return serves.some(
    (served) =>
      (served.payoutMethod ?? payoutMethod) === payoutMethod &&
      (served.countries?.includes(country) ?? true) &&
      (served.currencies?.includes(currency) ?? true),
  );
}

function openRail(rail: RailConfig, database: Database): Rail {
  switch (rail.kind) {
    case 'sandbox':
      return new SandboxRail(database);
    case 'http':
      return new HttpRail(rail, database);
    case 'iso20022':
      return new Iso20022Rail(rail, database, { files: new BankFiles(database, rail) });
  }
}
