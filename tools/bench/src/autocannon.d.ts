/** The part of autocannon we use; it ships no types. */
declare module 'autocannon' {
  interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    readonly headers?: Readonly<Record<string, string>>;
    /** Sent in turn by each connection. */
    readonly requests?: readonly { readonly path: string }[];
  }

  interface Result {
    /** Seconds, as measured. */
    readonly duration: number;
    readonly '2xx': number;
    readonly non2xx: number;
    readonly errors: number;
    readonly timeouts: number;
    /** Milliseconds. */
    readonly latency: { readonly p50: number; readonly p99: number };
  }

  export default function autocannon(options: Options): Promise<Result>;
}
