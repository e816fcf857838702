import { Session, type Profiler } from 'node:inspector';

/** Which parts of a function ran, for each of its characters, and where its blocks begin and end. */
interface FunctionBlocks {
  readonly ran: Uint8Array;
  readonly borders: Set<number>;
  /** The ranges of earlier inputs, as texts: most inputs run a function as an earlier one did. */
  readonly known: Set<string>;
}

const KNOWN_MAX = 10_000;

/** A block by its function and its first character. */
interface NewBlock {
  readonly key: string;
  readonly at: number;
}

/** The number of blocks that ran, and of all blocks of the functions that ran. */
export interface BlockCount {
  readonly reached: number;
  readonly seen: number;
}

/**
 * Counts the blocks of this thread's code that ran, with the counters of V8. They also count in dependencies and generated code, which
 * need no instrumentation. Start it before the code is loaded: V8 counts blocks only in functions that it compiles afterwards.
 */
export class BlockCoverage {
  readonly #session = new Session();
  readonly #functions = new Map<string, FunctionBlocks>();

  /** @param isGuiding by the URL of a file, or an empty text for generated code */
  constructor(private readonly isGuiding: (url: string) => boolean) {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Takes the blocks that ran for the first time since the last call. */
  takeNew(): NewBlock[] {
    return this.#take().flatMap(({ scriptId, functions }) => functions.flatMap((one) => this.#merge(scriptId, one)));
  }

  /** Whether a block ran since the last call that never ran before. It is still new afterwards. */
  takeIsNew(): boolean {
    return this.#take().some(({ scriptId, functions }) =>
      functions.some((one) => {
        const blocks = this.#functions.get(keyOf(scriptId, one));
        if (blocks?.known.has(textOf(one))) return false;
        const now = paint(one);
        for (let at = 0; at < now.length; at += 1) if (now[at] === 1 && blocks?.ran[at] !== 1) return true;
        return false;
      }),
    );
  }

  /** Whether all these blocks ran again since the last call. */
  takeHas(blocks: readonly NewBlock[]): boolean {
    const ran = new Map<string, Uint8Array>();
    for (const { scriptId, functions } of this.#take()) {
      for (const one of functions) ran.set(keyOf(scriptId, one), paint(one));
    }
    return blocks.every(({ key, at }) => ran.get(key)?.[at] === 1);
  }

  count(): BlockCount {
    let [reached, seen] = [0, 0];
    for (const { ran, borders } of this.#functions.values()) {
      const begins = [...borders].filter((at) => at < ran.length);
      seen += begins.length;
      reached += begins.filter((at) => ran[at] === 1).length;
    }
    return { reached, seen };
  }

  stop(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }

  #take(): readonly Profiler.ScriptCoverage[] {
    let scripts: readonly Profiler.ScriptCoverage[] = [];
    // The callback runs before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, { result } = { result: [] }) => {
      if (error) throw error;
      scripts = result;
    });
    return scripts.filter(({ url }) => this.isGuiding(url));
  }

  #merge(scriptId: string, one: Profiler.FunctionCoverage): NewBlock[] {
    const key = keyOf(scriptId, one);
    const text = textOf(one);
    const blocks = this.#functions.get(key);
    if (blocks?.known.has(text)) return [];
    const now = paint(one);
    if (now.length === 0) return [];
    const { ran, borders, known } = blocks ?? { ran: new Uint8Array(now.length), borders: new Set(), known: new Set() };
    this.#functions.set(key, { ran, borders, known });
    if (known.size < KNOWN_MAX) known.add(text);
    const start = one.ranges[0]?.startOffset ?? 0;
    for (const { startOffset, endOffset } of one.ranges) borders.add(startOffset - start).add(endOffset - start);
    const fresh: NewBlock[] = [];
    let isInBlock = false;
    for (let at = 0; at < now.length; at += 1) {
      const isNew = now[at] === 1 && ran[at] === 0;
      // The first character represents the others of its block.
      if (isNew && !isInBlock) fresh.push({ key, at });
      isInBlock = isNew;
      if (isNew) ran[at] = 1;
    }
    return fresh;
  }
}

function keyOf(scriptId: string, { ranges: [whole] }: Profiler.FunctionCoverage): string {
  return `${scriptId}:${whole?.startOffset}-${whole?.endOffset}`;
}

/** Where the ranges of a function are, and which of them ran. */
function textOf({ ranges }: Profiler.FunctionCoverage): string {
  let text = '';
  for (const { startOffset, endOffset, count } of ranges) text += `${startOffset}${count > 0 ? '+' : '-'}${endOffset} `;
  return text;
}

/** For each character of a function, whether it ran. An inner range replaces the outer one before it. */
function paint({ ranges }: Profiler.FunctionCoverage): Uint8Array {
  const [whole] = ranges;
  if (whole === undefined || whole.count === 0) return new Uint8Array(0);
  const ran = new Uint8Array(whole.endOffset - whole.startOffset);
  for (const { startOffset, endOffset, count } of ranges) {
    ran.fill(count > 0 ? 1 : 0, startOffset - whole.startOffset, endOffset - whole.startOffset);
  }
  return ran;
}
