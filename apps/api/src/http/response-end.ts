import type { FastifyReply } from 'fastify';

/**
 * Calls `listener` once, when the response has been sent or its connection is closed. Node does not report the close of a connection to
 * the responses that wait behind another one of a pipeline, so this listens to both.
 *
 * @returns stops listening
 */
export function onResponseEnd(
  { raw, request }: Pick<FastifyReply, 'raw' | 'request'>,
  listener: () => void,
): () => void {
  const { socket } = request.raw;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    raw.off('close', end);
    socket.off('close', end);
  };
  const end = () => {
    // The close of a connection is announced to all its listeners, also to one that is removed meanwhile.
    if (isStopped) return;
    stop();
    listener();
  };
  raw.once('close', end);
  socket.once('close', end);
  return stop;
}

/** Whether nothing can be sent any more. */
export const isResponseOver = ({ raw, request }: Pick<FastifyReply, 'raw' | 'request'>): boolean =>
  raw.destroyed || request.raw.socket.destroyed;
