import { FairSlots } from './round-robin.js';

/** How many single slots the key gets. */
function takeAll(slots: FairSlots<string>, key: string): number {
  let count = 0;
  for (; slots.mayTake(key); count += 1) slots.take(key);
  return count;
}

describe('FairSlots', () => {
  it('give one key half of them, and leave some for the next key', () => {
    const slots = new FairSlots<string>(8);

    expect(takeAll(slots, 'a')).toBe(4);
    expect(takeAll(slots, 'b')).toBe(2);
    expect(takeAll(slots, 'c')).toBe(1);
    expect(slots.isFull).toBe(false);
    expect(takeAll(slots, 'd')).toBe(1);
    expect(slots.isFull).toBe(true);
  });

  it('give a key no more than its maximum', () => {
    const slots = new FairSlots<string>(100, 3);

    expect(takeAll(slots, 'a')).toBe(3);
    slots.release('a');
    expect(takeAll(slots, 'a')).toBe(1);
  });

  it('count several at once, the last of which may be more than are left', () => {
    const slots = new FairSlots<string>(10, 5);
    slots.take('a', 4);
    expect(slots.mayTake('a')).toBe(true);
    slots.take('a', 7);

    expect([slots.mayTake('a'), slots.mayTake('b'), slots.isFull]).toEqual([false, false, true]);
    slots.release('a', 7);
    slots.release('a', 4);
    expect(takeAll(slots, 'b')).toBe(5);
  });
});
