import { AsyncLocalStorage } from 'node:async_hooks';
import type { ChannelListener, TracingChannel } from 'node:diagnostics_channel';
import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
} from '@opentelemetry/api';
import { trace, type Tracer } from '@opentelemetry/api';
import { Refusal } from '@banking/domain';
import { sqlstateOf } from '@banking/postgres';
import { LINKED_CONTEXT } from './sampler.js';

/** The span that is active from a message to its end: one of its own, which then ends too, or another one, or none. */
type Started = { readonly own: Span } | { readonly other: Span | undefined };

/** How the messages of a channel become spans. */
export interface SpansOfChannel<M extends object> {
  start(message: M): Started;
  /** Completes the span of its own before it ends. */
  complete?(span: Span, message: M & { readonly error?: unknown }): void;
}

interface Subscribable {
  subscribe(listener: ChannelListener): void;
  unsubscribe(listener: ChannelListener): unknown;
}

/**
 * Makes spans, and knows the active one.
 *
 * Only recorded spans are active, and the storage is disabled while none is open: on Node 20, each promise of the process takes longer
 * while a storage is enabled. At a low ratio, that would be most of the cost of traces.
 */
export class Spans {
  private readonly active$ = new AsyncLocalStorage<Span | undefined>();
  /** The spans of messages and other objects, to be ended or linked later. */
  private readonly known = new WeakMap<object, Span>();
  private readonly roots = new WeakSet<Span>();
  private readonly undo: (() => void)[] = [];

  /** Recorded spans without a parent in this process that have not ended. */
  private open = 0;

  /** @param onFault receives an error of the recording, which must not end a process that moves money: Node would end it */
  constructor(
    private readonly tracer: Tracer,
    private readonly onFault: (error: unknown) => void = () => undefined,
  ) {}

  /** The active span. A connection may be in the context of an earlier request, whose span has ended. */
  get active(): Span | undefined {
    const span = this.active$.getStore();
    return span?.isRecording() === true ? span : undefined;
  }

  /** Runs work with this span as the active one; without one if it is not recorded. */
  run<T>(span: Span | undefined, work: () => T): T {
    if (span?.isRecording() === true) return this.active$.run(span, work);
    return this.open === 0 ? work() : this.active$.run(undefined, work);
  }

  /** Ends a span that `startRoot` or `startLinked` has begun. */
  endRoot(span: Span): void {
    if (!span.isRecording()) return;
    span.end();
    this.open -= 1;
    if (this.open === 0) this.active$.disable();
  }

  /** A span without a parent in this process. @param remote the span of another service that it belongs to */
  startRoot(name: string, options: SpanOptions, remote?: SpanContext): Span {
    const context = remote === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
    return this.opened(this.tracer.startSpan(name, options, context));
  }

  startChild(parent: Span, name: string, options: SpanOptions): Span {
    return this.tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, parent));
  }

  /** The span of work that several spans wait for: in a trace of its own, with links in both directions. */
  startLinked(name: string, waiting: readonly Span[], attributes: Attributes): Span {
    const links = waiting.map((span) => ({ context: span.spanContext() }));
    const span = this.opened(this.tracer.startSpan(name, { links, attributes }, LINKED_CONTEXT));
    for (const one of waiting) one.addLink({ context: span.spanContext() });
    return span;
  }

  /** Keeps the span of an object, for `spansOf`. */
  keep(object: object, span: Span): void {
    this.known.set(object, span);
  }

  /** The different recorded spans of these objects. */
  spansOf(objects: readonly object[]): Span[] {
    const spans = objects.map((object) => this.known.get(object)).filter((span) => span?.isRecording() === true);
    return [...new Set(spans as Span[])];
  }

  /** Makes spans of the messages of a channel, until `unfollow`. */
  follow<M extends object>(channel: TracingChannel<unknown, M>, { start, complete }: SpansOfChannel<M>): void {
    const begin = (message: M): Span | undefined => {
      try {
        const started = start(message);
        if (!('own' in started)) return started.other;
        this.keep(message, started.own);
        return started.own;
      } catch (error) {
        this.onFault(error);
        return this.active;
      }
    };
    const end = (message: M & { readonly error?: unknown }) => {
      const span = this.known.get(message);
      if (span === undefined) return;
      try {
        complete?.(span, message);
      } catch (error) {
        this.onFault(error);
      }
      if (this.roots.has(span)) this.endRoot(span);
      else span.end();
    };
    channel.start.bindStore(this.active$, begin);
    this.undo.push(() => channel.start.unbindStore(this.active$));
    this.subscribe(channel.asyncEnd, end);
  }

  /** Receives the messages of a channel, until `unfollow`. */
  subscribe<M extends object>(channel: Subscribable, receive: (message: M) => void): void {
    const listener = receive as ChannelListener;
    channel.subscribe(listener);
    this.undo.push(() => channel.unsubscribe(listener));
  }

  unfollow(): void {
    for (const undo of this.undo.splice(0)) undo();
  }

  private opened(span: Span): Span {
    if (span.isRecording()) {
      this.open += 1;
      this.roots.add(span);
    }
    return span;
  }
}

/**
 * Marks a span as failed. Its message and its stack are left out, because they may quote values of the request: the log has those that
 * do not.
 */
export function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The SQLSTATE, the reason of a refusal, or the class of an error. */
export function typeOf(error: unknown): string {
  const sqlstate = sqlstateOf(error);
  if (sqlstate !== undefined) return sqlstate;
  if (error instanceof Refusal) return error.reason;
  return error instanceof Error ? error.name : typeof error;
}
