import { describeError } from './logger.js';

const VALUE = 'Zq8-typed-50100123456789';

/** The error that the work throws. */
function thrownBy(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

describe('describeError', () => {
  it('names statement and constraint of a database error, and omits the row', () => {
    const below = Object.assign(new Error('below'), { detail: `Key (email)=(${VALUE}) already exists.` });
    const error = Object.assign(new Error('duplicate key', { cause: below }), {
      code: '23505',
      statement: 'add_user',
      constraint: 'app_user_email_key',
      detail: `Key (email)=(${VALUE}) already exists.`,
      where: `COPY app_user, line 1: "${VALUE}"`,
    });

    expect(describeError(error)).toMatchObject({
      type: 'Error',
      message: 'duplicate key',
      code: '23505',
      statement: 'add_user',
      constraint: 'app_user_email_key',
      cause: { message: 'below' },
    });
    expect(JSON.stringify(describeError(error))).not.toContain(VALUE);
  });

  it.each<[string, Error]>([
    ['JSON.parse', thrownBy(() => JSON.parse(VALUE) as unknown)],
    ['BigInt', thrownBy(() => BigInt(VALUE))],
    ['in', thrownBy(() => 'a' in (VALUE as unknown as object))],
    ['a setter', thrownBy(() => Object.assign(Object.freeze([VALUE]), { [VALUE]: 1 }))],
    [
      'a data exception of the database',
      Object.assign(new Error(`invalid input syntax for type bigint: "${VALUE}"`), { code: '22P02' }),
    ],
    ['a message that looks like a stack', Object.assign(new Error(`x\n    at ${VALUE}\n    at y`), { code: '22021' })],
    ['a cause', new Error('a note', { cause: thrownBy(() => JSON.parse(VALUE) as unknown) })],
  ])('replaces a message of %s that quotes a value by type and frames', (_, error) => {
    const described = describeError(error);

    expect(JSON.stringify(described)).not.toContain(VALUE);
    expect((described.cause ?? described).stack).toMatch(/^ {4}at \S/);
    expect((described.cause ?? described).message).toBeUndefined();
  });

  it('reports only the type of a thrown value that is no error', () => {
    expect(describeError(VALUE)).toEqual({ type: 'string', message: 'the value thrown is not an error' });
  });
});
