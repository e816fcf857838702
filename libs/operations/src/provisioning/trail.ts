import { bind, DatabaseError, statement, type Bound } from '@banking/postgres';

/** A wish of the operator that cannot be fulfilled. Its message says what to change. */
export class ProvisioningError extends Error {
  override readonly name = 'ProvisioningError';
}

const ACT_AS = statement('act_as', `select set_config('app.actor', $1, true)`);

/** Names who makes the changes of this database transaction, for the trail that a trigger keeps. */
export const actAs = (actor: string): Bound<unknown> => bind(ACT_AS, actor);

/** Says in the operator's words why the database refused: something of that name is there, or is still in use. */
export async function provisioned<T>(work: Promise<T>, taken: string, inUse: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === '23505') throw new ProvisioningError(taken, { cause: error });
    if (error instanceof DatabaseError && error.code === '23503') throw new ProvisioningError(inUse, { cause: error });
    throw error;
  }
}
