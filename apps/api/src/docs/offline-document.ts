import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { BankingService } from '@banking/domain';
import { controllersOf } from '../app.module.js';
import { Draining, SharedReadiness } from '../health/readiness.js';
import { ReferenceAnswers } from '../http/reference-answers.js';
import { OrderLimit } from '../orders/order-limit.js';
import { createDocument } from './openapi.js';

/** Nothing answers behind the port here: no route is ever called. */
const unanswered = [BankingService, OrderLimit, SharedReadiness].map((provide) => ({ provide, useValue: {} }));

@Module({ controllers: controllersOf({ sandbox: true }), providers: [...unanswered, Draining, ReferenceAnswers] })
class DocumentedModule {}

/** The document without a running service: Nest's preview reads the declarations and makes nothing. */
export async function offlineDocument(): Promise<OpenAPIObject> {
  const app = await NestFactory.create(DocumentedModule, new FastifyAdapter(), {
    preview: true,
    logger: false,
    abortOnError: false,
  });
  return createDocument(app);
}
