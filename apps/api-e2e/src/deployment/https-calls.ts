import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

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

  /** Repeats a request until it is served. @throws as `call` does */
  async served(path: string, call: Call = {}): Promise<HttpsResponse> {
    for (;;) {
      const response = await this.call(path, call);
      if (!RETRIED.includes(response.status)) return response;
      await pause(200);
    }
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
