import { Controller, type DynamicModule, Get, Injectable, Module, Param, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  BankingService,
  type Event,
  type EventId,
  type EventPage,
  Refusal,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { FairSlots } from '@banking/process';
import { CalledBy, type Caller, confirmAccess } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { Draining } from '../health/readiness.js';
import { ApiIdParam, IdPipe, queryPipe } from '../input/input.pipe.js';
import { isResponseOver, onResponseEnd } from '../http/connections.js';
import { sendPage } from '../input/page.js';
import { EventDto, EventQueryDto } from './event.dto.js';

/** Half of the connections of the server, so that other requests find one. */
export const HELD_MAX = 500;
export const HELD_PER_WORKSPACE_MAX = 50;
/** Of each workspace, because a gateway is one user for the callers of all of them. */
export const HELD_PER_USER_MAX = 10;

interface Waiting {
  readonly actor: UserId;
  readonly workspaceId?: WorkspaceId | undefined;
}

/** Counts the requests that are held until there is something to send, and ends them early. */
@Injectable()
export class HeldRequests {
  private readonly ofWorkspaces = new FairSlots<WorkspaceId | undefined>(HELD_MAX, HELD_PER_WORKSPACE_MAX);
  private readonly ofUsers = new FairSlots<string>(Infinity, HELD_PER_USER_MAX);
  private readonly held = new Set<AbortController>();

  constructor(private readonly draining: Draining) {
    draining.onBegin(() => this.held.forEach((controller) => controller.abort(stopping())));
  }

  /**
   * Holds a request while `wait` is pending. Its signal is aborted when the caller disconnects, and when the service stops.
   *
   * @returns undefined if the wait ended early
   * @throws Refusal `rate_limited` if too many requests of the user in the workspace, or of the workspace, are held, `unavailable` if too many of the
   *   process are; the error of `wait`
   */
  async hold<T>(
    { actor, workspaceId }: Waiting,
    reply: Pick<FastifyReply, 'raw' | 'request'>,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.draining.begun) return undefined;
    const user = `${actor} in ${workspaceId}`;
    if (!this.ofUsers.mayTake(user)) throw limited('Too many of your requests in the workspace wait already.');
    if (this.ofWorkspaces.isFull) {
      throw new Refusal('unavailable', 'Too many requests wait already.', { retryAfterSeconds: 1 });
    }
    if (!this.ofWorkspaces.mayTake(workspaceId)) {
      throw limited('Too many requests of the workspace wait already.');
    }
    const controller = new AbortController();
    const { signal } = controller;
    const leave = () => controller.abort(new Refusal('unavailable', 'The caller has disconnected.'));
    this.ofWorkspaces.take(workspaceId);
    this.ofUsers.take(user);
    this.held.add(controller);
    const stopListening = onResponseEnd(reply, leave);
    try {
      if (isResponseOver(reply)) leave();
      const result = await wait(signal);
      return signal.aborted ? undefined : result;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    } finally {
      stopListening();
      this.held.delete(controller);
      this.ofWorkspaces.release(workspaceId);
      this.ofUsers.release(user);
    }
  }
}

const limited = (message: string) => new Refusal('rate_limited', message, { retryAfterSeconds: 1 });
const stopping = () => new Refusal('unavailable', 'The service is stopping.', { retryAfterSeconds: 1 });

const EVENT_ID = [
  'eventId',
  'An event of the workspace. The response is the same for an event of another workspace and one that does not exist.',
] as const;

@ApiTags('Events')
@Controller('events')
class EventsController {
  constructor(
    private readonly banking: BankingService,
    private readonly requests: HeldRequests,
  ) {}

  @Get()
  @Operation('listEvents', {
    summary: 'List events',
    description: paragraphs(
      'Lists what happened in the workspace, **oldest first**. An event names the resource, its status before and after, and who changed it.',
      'It has no amounts, names or account codes: read the resource.',
      '',
      '`Link` with the relation `next` is always present. Store its cursor after you have processed the page, and continue from it.',
      'A reader who follows it misses no event. A page may have fewer events than `limit`, or none, while there are more:',
      'the end is a page without events whose cursor is the one you sent.',
      '',
      'With `wait`, the response is sent as soon as there is an event, and without one when the time is over.',
      'It may be sent early, for example when the service stops. Your access is checked again before a held response is sent.',
      'At most 10 requests of a user in a workspace, and 50 of a workspace, are held at a time; another one is refused with `rate_limited`.',
      '',
      'Events are kept for 30 days, unless the deployment keeps them for another time.',
      'A cursor is refused with `cursor_expired` if events behind it were deleted. Without a cursor, the list begins with the events that are left.',
    ),
    provenance: 'ours',
    isHeld: true,
  })
  @ApiOkResponse({
    description: 'A page of events; `Link` leads to the next, and is always present.',
    type: [EventDto],
  })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: EventQueryDto,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { wait = 0, ...filters } = query;
    const page = await this.banking.listEvents(caller, filters);
    const isHeld = wait > 0 && page.items.length === 0;
    return sendPage(reply, isHeld ? await this.laterPage(caller, { ...filters, wait }, page, request, reply) : page);
  }

  @Get(':eventId')
  @Operation('getEvent', {
    summary: 'Retrieve an event',
    description: 'Returns one event of the workspace.',
    provenance: 'ours',
  })
  @ApiIdParam(...EVENT_ID)
  @ApiOkResponse({ description: 'The event.', type: EventDto })
  get(@CalledBy() caller: Caller, @Param('eventId', IdPipe) eventId: EventId): Promise<Event> {
    return this.banking.getEvent(caller, { eventId });
  }

  /** The page after one without events, or the same page if the wait ends early. */
  private async laterPage(
    caller: Caller,
    query: EventQueryDto,
    page: EventPage,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<EventPage> {
    request.endPagedRead?.();
    const later = await this.requests.hold(caller, reply, (signal) =>
      this.banking.listEvents({ ...caller, signal }, { ...query, cursor: page.next }),
    );
    if (later === undefined) return page;
    // The caller may have lost the role meanwhile.
    await confirmAccess(request);
    return later;
  }
}

@Module({ controllers: [EventsController], providers: [HeldRequests] })
export class EventsModule {
  static of(draining: Draining): DynamicModule {
    return { module: EventsModule, providers: [{ provide: Draining, useValue: draining }] };
  }
}
