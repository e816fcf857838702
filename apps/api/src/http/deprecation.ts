import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
  UseInterceptors,
  applyDecorators,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, type Observable, throwError } from 'rxjs';
import { Refusal } from '@banking/domain';
import { publicReference } from './public-url.js';

/** The day on which the former paths were deprecated, and the day after which they may be removed. */
const DEPRECATED_AT = new Date('2026-11-21T00:00:00Z');
const SUNSET_AT = new Date('2027-11-21T00:00:00Z');

const SUCCESSOR = 'successor';
const HEADERS = ['Deprecation', 'Sunset', 'Link'];

/** The same for the OpenAPI document. */
export const deprecationText = (successor: string): string =>
  `**Deprecated** since ${dayOf(DEPRECATED_AT)}: use \`GET ${successor}\`, which has the same response. ` +
  `This path may be removed after ${dayOf(SUNSET_AT)}.`;

const dayOf = (date: Date) => date.toISOString().slice(0, 10);

/** Sets on every response that the path is deprecated (RFC 9745), when it may be removed (RFC 8594) and its successor. */
@Injectable()
class DeprecationInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const template = this.reflector.get<string>(SUCCESSOR, context.getHandler());
    const http = context.switchToHttp();
    const { params, url } = http.getRequest<FastifyRequest<{ Params: Record<string, string> }>>();
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const query = new URLSearchParams(url.split('?')[1]).toString();
    const reply = http.getResponse<FastifyReply>();
    reply.headers({
      Deprecation: `@${DEPRECATED_AT.getTime() / 1000}`,
      Sunset: SUNSET_AT.toUTCString(),
      Link: `<${publicReference(reply, path)}${query && `?${query}`}>; rel="successor-version"`,
    });
    // Most malformed requests are refused before this interceptor runs, so none of them gets the headers.
    const bare = (thrown: unknown) => {
      if (thrown instanceof Refusal && thrown.status === 400) {
        for (const name of HEADERS) void reply.removeHeader(name);
      }
      return throwError(() => thrown);
    };
    return next.handle().pipe(catchError(bare));
  }
}

export const SuccessorHeaders = (template: string): MethodDecorator =>
  applyDecorators(SetMetadata(SUCCESSOR, template), UseInterceptors(DeprecationInterceptor));
