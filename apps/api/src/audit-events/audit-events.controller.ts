import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type AuditEvent } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { Operation } from '../access/operation.decorator.js';
import { preferredType } from '../http/accept.js';
import { CSV_TYPE } from '../http/csv.js';
import { queryPipe } from '../input/input.pipe.js';
import { sendPage } from '../input/page.js';
import { auditCsv } from './audit-csv.js';
import * as docs from './audit-events.docs.js';
import { AuditEventDto } from './audit-event.dto.js';
import { AuditQueryDto } from './audit-query.dto.js';

@ApiTags('Audit trail')
@Controller('audit-events')
export class AuditEventsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listAuditEvents', docs.listAuditEvents)
  @ApiExtraModels(AuditEventDto)
  @docs.AuditEventsResponse()
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: AuditQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<readonly AuditEvent[] | string> {
    const items = sendPage(reply, await this.banking.listAuditEvents(caller, query));
    if (preferredType(reply.request.headers.accept, docs.AUDIT_TYPES) !== 'text/csv') return items;
    reply.headers({ 'content-type': CSV_TYPE, 'content-disposition': 'attachment; filename="audit-events.csv"' });
    return auditCsv(items);
  }
}
