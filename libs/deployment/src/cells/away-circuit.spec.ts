import { Refusal } from '@banking/domain';
import { DatabaseError, SQLSTATE } from '@banking/postgres';
import { AwayCircuit } from './other-cells.js';

let nowMs: number;
let circuit: AwayCircuit;
let calls: number;

beforeEach(() => {
  nowMs = 0;
  calls = 0;
  circuit = new AwayCircuit(() => nowMs);
});

const unavailable = { reason: 'unavailable' };
const call = (result: Promise<unknown> = Promise.resolve('answered')) =>
  circuit.call(() => {
    calls += 1;
    return result;
  });
const away = () => Promise.reject(new Refusal('unavailable'));

describe('a circuit of a cell', () => {
  it('calls a cell that answers, also with an error', async () => {
    expect(await call()).toBe('answered');
    await expect(call(Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await call()).toBe('answered');
    expect(calls).toBe(3);
  });

  it('refuses calls for a second after one for which the cell was away', async () => {
    await expect(call(away())).rejects.toMatchObject(unavailable);

    nowMs = 999;
    await expect(call()).rejects.toMatchObject({ ...unavailable, retryAfterSeconds: 1 });
    expect(calls).toBe(1);
    nowMs = 1_000;
    expect(await call()).toBe('answered');
    expect(await call()).toBe('answered');
  });

  it('tries the cell with one call, and refuses others until that has ended', async () => {
    await expect(call(away())).rejects.toMatchObject(unavailable);
    nowMs = 1_000;
    let answer: (text: string) => void = () => undefined;
    const trying = call(new Promise((resolve) => (answer = resolve)));

    nowMs = 10_000;
    await expect(call()).rejects.toMatchObject(unavailable);
    answer('answered');
    expect(await trying).toBe('answered');
    expect(await call()).toBe('answered');
    expect(calls).toBe(3);
  });

  it('does not take the lock of one account for a cell that is away', async () => {
    const locked = new DatabaseError('locked', 1, 'error');
    locked.code = SQLSTATE.lockNotAvailable;
    const refusal = new Refusal('unavailable', undefined, { cause: locked });

    await expect(call(Promise.reject(refusal))).rejects.toMatchObject(unavailable);
    expect(await call()).toBe('answered');
  });
});
