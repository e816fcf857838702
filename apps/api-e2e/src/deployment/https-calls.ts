import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { until } from '@banking/postgres/testing';

export interface HttpsResponse {
  readonly status: number;
  readonly body: unknown;
}

/** Not executed, or of unknown outcome: a client repeats such a request with its key, so that a busy machine fails no test. */
const RETRIED: readonly number[] = [502, 503, 504];

interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Calls a server whose certificate was signed by an authority of its own, which `fetch` cannot be told. */
export class HttpsCalls {
  private readonly ca: string;

  constructor(
    private readonly baseUrl: string,
    caFile: string,
  ) {
    this.ca = readFileSync(caFile, 'utf8');
  }

  /**
   * Repeats a request until the response is as expected, and returns it. A server that does not listen yet, or that is
   * too busy for the connection, gives none.
   */
  async until(isExpected: (response: HttpsResponse) => boolean, path: string, call: Call = {}): Promise<HttpsResponse> {
    const [outcome] = await until(
      () => Promise.allSettled([this.call(path, call)]),
      ([result]) => result.status === 'fulfilled' && isExpected(result.value),
    );
    return (outcome as PromiseFulfilledResult<HttpsResponse>).value;
  }

  /** Repeats a request until it is served. */
  async served(path: string, call: Call = {}): Promise<HttpsResponse> {
    return this.until(({ status }) => !RETRIED.includes(status), path, call);
  }

  /** @throws Error of `node:https` if the server cannot be reached, or did not prove its name */
  async call(path: string, { body, ...options }: Call = {}): Promise<HttpsResponse> {
    const { baseUrl, ca } = this;
    return new Promise((resolve, reject) => {
      const sent = request(`${baseUrl}${path}`, { ...options, ca, agent: false }, (response) => {
        text(response).then(
          (content) => resolve({ status: response.statusCode ?? 0, body: parsed(content) }),
          (error: unknown) => reject(error as Error),
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}
