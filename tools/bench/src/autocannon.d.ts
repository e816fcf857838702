/** The part of autocannon we use; it ships no types. */
declare module 'autocannon' {
  function autocannon(options: autocannon.Options): Promise<autocannon.Result>;

  namespace autocannon {
    interface Request {
      readonly method?: 'GET' | 'POST';
      readonly path?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
      /** Called before each request of this kind; what it returns is sent. */
      readonly setupRequest?: (request: Request) => Request;
    }

    interface Options {
      readonly url: string;
      readonly connections: number;
      /** Seconds. */
      readonly duration?: number;
      /** Requests, instead of a duration. */
      readonly amount?: number;
      /** Milliseconds between samples. A run of an amount ends at one. Default 1,000. */
      readonly sampleInt?: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Sent in turn by each connection. */
      readonly requests?: readonly Request[];
    }

    interface Result {
      /** Seconds, as measured. */
      readonly duration: number;
      readonly errors: number;
      readonly timeouts: number;
      /** By status. */
      readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>;
      /** Milliseconds. */
      readonly latency: { readonly p50: number; readonly p99: number };
    }
  }

  export default autocannon;
}
