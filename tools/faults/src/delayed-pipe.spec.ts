import { DelayedPipe } from './delayed-pipe.js';

describe('delayed pipe', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('passes data on at once without a delay', () => {
    const written: string[] = [];
    const pipe = new DelayedPipe((bytes) => written.push(bytes.toString()));

    pipe.pass(Buffer.from('a'), 0);

    expect(written).toEqual(['a']);
  });

  it('keeps the order while the delay changes', () => {
    const written: string[] = [];
    const pipe = new DelayedPipe((bytes) => written.push(bytes.toString()));

    pipe.pass(Buffer.from('a'), 500);
    pipe.pass(Buffer.from('b'), 0);
    expect(written).toEqual([]);
    jest.advanceTimersByTime(499);
    expect(written).toEqual([]);
    jest.advanceTimersByTime(1);

    expect(written).toEqual(['a', 'b']);
    pipe.pass(Buffer.from('c'), 0);
    expect(written).toEqual(['a', 'b', 'c']);
  });

  it('drops what waits when it ends', () => {
    const written: string[] = [];
    const pipe = new DelayedPipe((bytes) => written.push(bytes.toString()));

    pipe.pass(Buffer.from('a'), 500);
    pipe.end();
    jest.advanceTimersByTime(1_000);

    expect(written).toEqual([]);
  });
});
