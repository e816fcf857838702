import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { TransportRequest } from '@banking/client';

/** A request as the client describes it. */
interface ExchangedRequest extends Pick<TransportRequest, 'method' | 'headers' | 'signal'> {
  readonly body?: string | undefined;
}

/** A complete response. */
export interface ExchangedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: ArrayBuffer;
}

/**
 * Sends a request and collects its whole response. `request` of undici makes a stream of each body, which costs more than the few
 * chunks of a response.
 *
 * @throws the reason of the signal; the error of undici
 */
export function exchange(dispatcher: Dispatcher, url: URL, request: ExchangedRequest): Promise<ExchangedResponse> {
  const { method, headers, body = null, signal } = request;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const options = { origin: url.origin, path: url.pathname + url.search, method, headers, body };
    dispatcher.dispatch(options, new Exchange(signal, resolve, reject));
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined;
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  private readonly chunks: Buffer[] = [];
  private readonly abort = () => this.controller?.abort(this.signal.reason as Error);

  constructor(
    private readonly signal: AbortSignal,
    private readonly resolve: (response: ExchangedResponse) => void,
    private readonly reject: (error: Error) => void,
  ) {
    signal.addEventListener('abort', this.abort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // It may have been aborted while it waited for a connection.
    if (this.signal.aborted) this.abort();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // A status below 200 is informational: the response follows.
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.signal.removeEventListener('abort', this.abort);
    this.resolve({ status: this.status, headers: this.headers, bytes: joined(this.chunks) });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.signal.removeEventListener('abort', this.abort);
    this.reject(error);
  }
}

function joined(chunks: readonly Buffer[]): ArrayBuffer {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let end = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, end);
    end += chunk.length;
  }
  return bytes.buffer;
}
