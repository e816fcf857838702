import { foldEmail, type Origin } from '@banking/domain';
import { bind, DatabaseError, sqlStatement, type BoundStatement, SQLSTATE } from '@banking/postgres';

/** A request of an operator that cannot be carried out. Its message states what to change. */
export class ProvisioningError extends Error {
  override readonly name = 'ProvisioningError';
}

/** The operator of a change: the name that was given, and the account of the operating system. */
export type Operator = NonNullable<Origin['operator']>;

/** Who changes the directory: an operator, or the name of a program. */
export type Actor = string | Operator;

const ACT_AS = sqlStatement(
  'act_as',
  `select set_config('app.actor', $1, true), set_config('app.operating_system_user', $2, true)`,
);

/** Sets the actor of this database transaction, for the audit trails that triggers write. */
export function actAs(actor: Actor): BoundStatement<unknown> {
  const { name, operatingSystemUser = '' } = typeof actor === 'string' ? { name: actor } : actor;
  return bind(ACT_AS, name, operatingSystemUser);
}

/** The messages for a unique violation and for a foreign key violation. */
interface Messages {
  readonly taken?: string;
  readonly inUse?: string;
}

/** Replaces a constraint violation by a message for the operator. Rethrows an error without a message. */
export async function provisioned<T>(work: Promise<T>, { taken, inUse }: Messages): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const code = error instanceof DatabaseError ? error.code : undefined;
    const message =
      code === SQLSTATE.uniqueViolation ? taken : code === SQLSTATE.foreignKeyViolation ? inUse : undefined;
    throw message === undefined ? error : new ProvisioningError(message, { cause: error });
  }
}

/** An e-mail as it is stored. @throws ProvisioningError if it cannot name a user */
export function emailOf(text: string): string {
  const email = foldEmail(text);
  if (email === undefined) {
    throw new ProvisioningError(
      `${text} is not an e-mail address in ASCII. Write an internationalised domain as xn--….`,
    );
  }
  return email;
}
