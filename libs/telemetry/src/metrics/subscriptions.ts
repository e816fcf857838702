import type { Channel, TracingChannel } from 'node:diagnostics_channel';

/** Ends a subscription. */
export type Unsubscribe = () => void;

/** A message of a tracing channel at its end. */
type Ended<Message> = Message & { readonly error?: unknown };

const BEGAN_AT_MS = Symbol('beganAtMs');

/** Calls `handle` for each message. `handle` must not throw: Node would end the process. */
export function onMessage<Message>(
  channel: Channel<unknown, Message>,
  handle: (message: Message) => void,
): Unsubscribe {
  const listen = (message: unknown) => handle(message as Message);
  channel.subscribe(listen);
  return () => channel.unsubscribe(listen);
}

/** Calls `handle` at the end of what a tracing channel traces, with its duration. `handle` must not throw. */
export function onEnd<Message extends object>(
  channel: TracingChannel<unknown, Message>,
  handle: (message: Ended<Message>, seconds: number) => void,
): Unsubscribe {
  const begin = (message: unknown) => {
    (message as { [BEGAN_AT_MS]?: number })[BEGAN_AT_MS] = performance.now();
  };
  const end = (message: unknown) => {
    const beganAtMs = (message as { [BEGAN_AT_MS]?: number })[BEGAN_AT_MS];
    // It began before the subscription.
    if (beganAtMs === undefined) return;
    handle(message as Ended<Message>, (performance.now() - beganAtMs) / 1000);
  };
  channel.start.subscribe(begin);
  channel.asyncEnd.subscribe(end);
  return () => {
    channel.start.unsubscribe(begin);
    channel.asyncEnd.unsubscribe(end);
  };
}
