import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Refusal } from '@banking/domain';
import { Field } from '../http/field.decorator.js';
import { Operation } from '../access/operation.decorator.js';
import * as docs from './health.docs.js';
import { Draining, SharedReadiness } from './readiness.js';

class HealthDto {
  @Field('ours', { type: 'string', description: '`ok`', example: 'ok' })
  readonly status!: string;
}

@ApiTags('Health')
@Controller('health')
export class HealthController {
  constructor(
    private readonly readiness: SharedReadiness,
    private readonly draining: Draining,
  ) {}

  @Get('live')
  @Header('Cache-Control', 'no-store')
  @Operation('getLiveness', docs.getLiveness)
  @ApiOkResponse({ description: 'The process is alive.', type: HealthDto })
  live(): HealthDto {
    return { status: 'ok' };
  }

  @Get('ready')
  @Header('Cache-Control', 'no-store')
  @Operation('getReadiness', docs.getReadiness)
  @ApiOkResponse({ description: 'The service can serve requests.', type: HealthDto })
  async ready(): Promise<HealthDto> {
    if (this.draining.begun) throw notReady();
    await this.readiness.read().catch((error: unknown) => {
      throw error instanceof Refusal ? notReady(error) : error;
    });
    return { status: 'ok' };
  }
}

/** Everyone may call this path, so the reason goes to the log and to the listener of operators only. */
function notReady({ retryAfterSeconds, cause }: Partial<Refusal> = {}): Refusal {
  return new Refusal('unavailable', 'The service is not ready.', { retryAfterSeconds, cause });
}
