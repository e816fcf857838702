import {
  applyDecorators,
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  type NestInterceptor,
  Param,
  Res,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, type Observable, throwError } from 'rxjs';
import { BankingService, Refusal } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, type OperationText, paragraphs } from '../access/operation.decorator.js';
import { CachedResponses, CachedResponsesModule } from '../http/cached-responses.js';
import { publicReference } from '../http/public-url.js';
import { CorridorDto } from './corridor.dto.js';

const LINK = 'canonical';

/** Sets a `Link` to the other path of the same operation (RFC 6596). */
@Injectable()
class CanonicalLinkInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const template = this.reflector.get<string>(LINK, context.getHandler());
    const http = context.switchToHttp();
    const { params, url } = http.getRequest<FastifyRequest<{ Params: Record<string, string> }>>();
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const query = new URLSearchParams(url.split('?')[1]).toString();
    const reply = http.getResponse<FastifyReply>();
    reply.header('Link', `<${publicReference(reply, path)}${query && `?${query}`}>; rel="canonical"`);
    // Most malformed requests are refused before this interceptor runs, so none of them gets the header.
    const bare = (thrown: unknown) => {
      if (thrown instanceof Refusal && thrown.status === 400) void reply.removeHeader('Link');
      return throwError(() => thrown);
    };
    return next.handle().pipe(catchError(bare));
  }
}

export const CanonicalLink = (template: string): MethodDecorator =>
  applyDecorators(SetMetadata(LINK, template), UseInterceptors(CanonicalLinkInterceptor));

/** The path that links name, where the interface has two. */
const CANONICAL = '/recipients/countries/{country}/corridors';

const listCorridors: OperationText = {
  summary: 'List the corridors to a country',
  description: paragraphs(
    'Lists the corridors to a country: currency, payout method, type of beneficiary, limits and delivery time.',
    'The response is `[]` if the country has no corridor.',
    '',
    'Limits are in minor units of `edges.limitCurrency`, which can differ from the currency that arrives.',
  ),
  provenance: 'stated',
  statedParameters: ['country'],
  hasETag: true,
};

const COUNTRY = {
  name: 'country',
  description: 'ISO 3166-1 alpha-2 in any case; alpha-3 is accepted too.',
  schema: { type: 'string' as const, pattern: '^[A-Za-z]{2,3}$' },
};

@ApiTags('Corridors')
@Controller()
class CorridorsController {
  constructor(
    private readonly banking: BankingService,
    private readonly responses: CachedResponses,
  ) {}

  @Get('recipients/countries/:country/corridors')
  @Operation('listCorridors', listCorridors)
  @ApiParam(COUNTRY)
  @ApiOkResponse({ description: 'All corridors to the country.', type: [CorridorDto] })
  list(@CalledBy() caller: Caller, @Param('country') country: string, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.responses.send(reply, `corridors ${country}`, () => this.banking.listCorridors(caller, { country }));
  }

  /** The other path of the interface for the same operation. */
  @Get('countries/:country/corridors')
  @CanonicalLink(CANONICAL)
  @Operation('listCorridors', { ...listCorridors, canonical: CANONICAL })
  @ApiParam(COUNTRY)
  @ApiOkResponse({ description: 'All corridors to the country.', type: [CorridorDto] })
  listFormerly(
    @CalledBy() caller: Caller,
    @Param('country') country: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.list(caller, country, reply);
  }
}

@Module({ imports: [CachedResponsesModule], controllers: [CorridorsController] })
export class CorridorsModule {}
