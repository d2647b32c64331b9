import { defer } from './deferred.js';
import {
  ExecuteReplySchema,
  ExecuteResultSchema,
  StatusSchema,
  StreamSchema,
  executeRequest,
} from './kernel-protocol.js';
import type { ExecuteReply, KernelMessage } from './kernel-protocol.js';
import type { KernelReply, OutputListener } from './runtime.js';

/** How long an interrupted kernel that is idle again may owe its reply; it sometimes never sends one. */
const REPLY_GRACE_MS = 250;

/** One execute request and what the kernel has said about it so far. */
export class KernelRequest {
  readonly id: string;
  readonly frame: Buffer;
  readonly #onOutput: OutputListener;
  readonly #started = defer<undefined>();
  readonly #done = defer<KernelReply>();
  #value = '';
  #reply: ExecuteReply | undefined;
  #isIdle = false;
  #isInterrupted = false;
  #listenerError: Error | undefined;
  #replyGrace: NodeJS.Timeout | undefined;

  /** Settles when the kernel has begun with the code; before that it ignores an interrupt. */
  readonly started = this.#started.promise;
  /** Settles once the reply has come and the kernel is idle, in either order: nothing follows then. */
  readonly done = this.#done.promise;

  constructor(code: string, clientId: string, onOutput: OutputListener) {
    const { id, frame } = executeRequest(code, clientId);
    this.id = id;
    this.frame = frame;
    this.#onOutput = onOutput;
  }

  async handle(message: KernelMessage): Promise<void> {
    switch (message.type) {
      case 'stream':
        await this.#pass(message.content);
        break;
      case 'execute_input':
        this.#started.resolve(undefined);
        break;
      case 'execute_result':
        this.#value = ExecuteResultSchema.parse(message.content).data['text/plain'] ?? '';
        break;
      case 'execute_reply':
        this.#reply = ExecuteReplySchema.parse(message.content);
        break;
      case 'status':
        if (StatusSchema.parse(message.content).execution_state === 'idle') this.#isIdle = true;
        break;
    }
    this.#settle();
  }

  markInterrupted(): void {
    this.#isInterrupted = true;
    this.#settle();
  }

  fail(error: Error): void {
    clearTimeout(this.#replyGrace);
    this.#started.reject(error);
    this.#done.reject(error);
  }

  /** A listener that throws gets no more output; the script still runs to its end before the error is passed on. */
  async #pass(content: unknown): Promise<void> {
    if (this.#listenerError) return;
    const { name, text } = StreamSchema.parse(content);
    try {
      await this.#onOutput({ stream: name, text });
    } catch (error) {
      this.#listenerError = error instanceof Error ? error : new Error(String(error));
    }
  }

  #settle(): void {
    if (!this.#isIdle) return;
    if (this.#reply === undefined) {
      if (this.#isInterrupted) this.#awaitReply();
      return;
    }
    clearTimeout(this.#replyGrace);
    this.#started.resolve(undefined);
    if (this.#listenerError) this.#done.reject(this.#listenerError);
    else this.#done.resolve(toKernelReply(this.#reply, this.#value));
  }

  #awaitReply(): void {
    this.#replyGrace ??= setTimeout(() => {
      this.#reply = { status: 'error', ename: 'KeyboardInterrupt' };
      this.#settle();
    }, REPLY_GRACE_MS);
  }
}

function toKernelReply(reply: ExecuteReply, value: string): KernelReply {
  const executionCount = reply.execution_count ?? 0;
  if (reply.status === 'ok') return { status: 'ok', value, executionCount };
  return {
    status: 'error',
    name: reply.ename ?? 'Error',
    message: reply.evalue ?? '',
    traceback: reply.traceback ?? [],
    executionCount,
  };
}
