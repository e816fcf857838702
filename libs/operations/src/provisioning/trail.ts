import { foldEmail } from '@banking/domain';
import { bind, DatabaseError, statement, type Bound } from '@banking/postgres';

/** A wish of the operator that cannot be fulfilled. Its message says what to change. */
export class ProvisioningError extends Error {
  override readonly name = 'ProvisioningError';
}

const ACT_AS = statement('act_as', `select set_config('app.actor', $1, true)`);

/** Names who makes the changes of this database transaction, for the trail that a trigger keeps. */
export const actAs = (actor: string): Bound<unknown> => bind(ACT_AS, actor);

/** What an operator is told when something of that name is there, and when something is still in use. */
interface Sentences {
  readonly taken?: string;
  readonly inUse?: string;
}

const UNIQUE_VIOLATION = '23505';
const FOREIGN_KEY_VIOLATION = '23503';

/** Says in the operator's words why the database refused. Without a sentence for it, the refusal is a bug of ours. */
export async function provisioned<T>(work: Promise<T>, { taken, inUse }: Sentences): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const code = error instanceof DatabaseError ? error.code : undefined;
    const sentence = code === UNIQUE_VIOLATION ? taken : code === FOREIGN_KEY_VIOLATION ? inUse : undefined;
    throw sentence === undefined ? error : new ProvisioningError(sentence, { cause: error });
  }
}

/** An e-mail as it is stored. @throws ProvisioningError when it is none that can name a user */
export function emailOf(text: string): string {
  const email = foldEmail(text);
  if (email === undefined) {
    throw new ProvisioningError(
      `${text} is not an e-mail address in ASCII. Write an internationalised domain as xn--….`,
    );
  }
  return email;
}
