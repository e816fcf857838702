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

const CANONICAL = 'canonical';

/** Sets a `Link` to the other path of the same operation (RFC 6596). */
@Injectable()
class CanonicalLinkInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const template = this.reflector.get<string>(CANONICAL, context.getHandler());
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
  applyDecorators(SetMetadata(CANONICAL, template), UseInterceptors(CanonicalLinkInterceptor));
