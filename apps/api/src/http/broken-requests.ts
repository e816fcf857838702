import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal, type RefusalReason } from '@banking/domain';
import { BARE_HEADERS, bodyOf } from './error-answer.js';

/** Refuses what the router cannot read, before there is a route and so before any hook. */
export function refuseBrokenPath(parameterLength: number) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const isTooLong = error.code === 'FST_ERR_MAX_PARAM_LENGTH';
    const refusal = isTooLong
      ? new Refusal('request_malformed', `A part of the path is longer than ${parameterLength} characters.`)
      : new Refusal('request_malformed', 'The path is not well-formed: check its percent-encoding.');
    request.log.info(
      { requestId: request.id, method: request.method, route: 'none', status: refusal.status, why: error.code },
      'request',
    );
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
 * What Node's parser refuses reaches no route: the answer is written by hand, in the same form. Where the answer to an earlier
 * request of the same connection is still to come, that one goes out and this one gets none: it would be taken for the other's.
 * Where the broken bytes are the body of the request that is being answered, this is its answer, unless another has begun.
 */
export function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket, logger: FastifyBaseLogger): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = new Refusal(BROKEN[error.code ?? ''] ?? 'request_malformed');
  const requestId = randomUUID();
  logger.info({ requestId, method: 'none', route: 'none', status: refusal.status, why: error.code }, 'request');
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
