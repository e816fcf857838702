import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal, type RefusalReason } from '@banking/domain';
import { responseChannel } from '@banking/telemetry';
import { BARE_HEADERS, bodyOf } from './error-response.js';
import { logRequest } from './request-log.js';
import { sourceAddressOf, sourceOf } from './addresses.js';

/** The headers of a request that cannot be read name no client. */
const NO_PROXIES = new BlockList();

/** Refuses a path that the router cannot read. No hook has run then. */
export function refuseBrokenPath(parameterLength: number, trustedProxies: BlockList) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const isTooLong = error.code === 'FST_ERR_MAX_PARAM_LENGTH';
    const refusal = isTooLong
      ? new Refusal('request_malformed', `A part of the path is longer than ${parameterLength} characters.`)
      : new Refusal('request_malformed', 'The path is not well-formed: check its percent-encoding.');
    logRequest(request.log, {
      requestId: request.id,
      method: request.method,
      route: 'none',
      status: refusal.status,
      sourceAddress: sourceOf(request, trustedProxies),
      why: error.code,
    });
    publish(request.method, refusal);
    reply
      .headers({ ...BARE_HEADERS, 'X-Request-Id': request.id })
      .code(refusal.status)
      .send(bodyOf(refusal, request.id));
  };
}

const BROKEN: Readonly<Record<string, RefusalReason>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * Refuses a request that Node's parser cannot read. It reaches no route, so the response is written to the socket, in the usual form.
 *
 * If the response to an earlier request of the connection is pending, that one is sent and this request gets none: a client would take
 * it for the response to the earlier request. If the malformed bytes are the body of the request that is being handled, this is its
 * response, unless another one has begun.
 */
export function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket, logger: FastifyBaseLogger): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = new Refusal(BROKEN[error.code ?? ''] ?? 'request_malformed');
  const requestId = randomUUID();
  const sourceAddress = sourceAddressOf(socket.remoteAddress, undefined, NO_PROXIES);
  const { status } = refusal;
  logRequest(logger, { requestId, method: 'none', route: 'none', status, sourceAddress, why: error.code });
  publish('none', refusal);
  const earlier = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage;
  if (earlier?.req.complete) {
    earlier.once('finish', () => socket.end());
    return;
  }
  if (earlier?.headersSent) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(bodyOf(refusal, requestId));
  const lines = [
    `HTTP/1.1 ${refusal.status} ${refusal.errorCode}`,
    ...Object.entries(BARE_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

function publish(method: string, { status, reason }: Refusal): void {
  if (!responseChannel.hasSubscribers) return;
  responseChannel.publish({ method, route: 'none', status, reason, isReplay: false });
}
