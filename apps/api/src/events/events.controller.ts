import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BankingService, type Event, type EventId, type EventPage } from '@banking/domain';
import { CalledBy, type CalledRequest, type Caller, confirmAccess } from '../access/caller.js';
import { Operation } from '../access/operation.decorator.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { queryPipe } from '../input/input.pipe.js';
import { sendPage } from '../input/page.js';
import { EventDto } from './event.dto.js';
import { EventQueryDto } from './event-query.dto.js';
import * as docs from './events.docs.js';
import { HeldRequests } from './held-requests.js';

@ApiTags('Events')
@Controller('events')
export class EventsController {
  constructor(
    private readonly banking: BankingService,
    private readonly requests: HeldRequests,
  ) {}

  @Get()
  @Operation('listEvents', docs.listEvents)
  @ApiOkResponse({
    description: 'A page of events; `Link` leads to the next, and is always present.',
    type: [EventDto],
  })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: EventQueryDto,
    @Req() request: FastifyRequest & CalledRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { wait = 0, ...filters } = query;
    const page = await this.banking.listEvents(caller, filters);
    const isHeld = wait > 0 && page.items.length === 0;
    return sendPage(reply, isHeld ? await this.laterPage(caller, { ...filters, wait }, page, request, reply) : page);
  }

  @Get(':eventId')
  @Operation('getEvent', docs.getEvent)
  @ApiIdParam(...docs.EVENT_ID)
  @ApiOkResponse({ description: 'The event.', type: EventDto })
  get(@CalledBy() caller: Caller, @Param('eventId', IdPipe) eventId: EventId): Promise<Event> {
    return this.banking.getEvent(caller, { eventId });
  }

  /** The page after one without events, or the same page if the wait ends early. */
  private async laterPage(
    caller: Caller,
    query: EventQueryDto,
    page: EventPage,
    request: CalledRequest,
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
