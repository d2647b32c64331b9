import type { Chat } from '../../agent/chat/chat.js';
import { createSolver } from '../../solver.js';
import type { Solver } from '../../solver.js';
import type { CommandContext } from '../command-context.js';
import { runOptions } from '../options.js';
import type { RunFlags } from '../options.js';

export interface ChatFlags extends RunFlags {
  /** An id, or true for the latest. */
  resume?: string | true;
  outDir?: string;
}

/** The chat that goes on and where its scripts run; either may be exchanged for another. */
export class ChatHost implements AsyncDisposable {
  readonly #flags: ChatFlags;
  readonly #env: NodeJS.ProcessEnv;
  readonly #onNotice: (text: string) => void;
  #solver: Solver;
  #chat: Chat;
  #where: string;

  private constructor(
    flags: ChatFlags,
    env: NodeJS.ProcessEnv,
    { solver, chat, onNotice }: { solver: Solver; chat: Chat; onNotice: (text: string) => void },
  ) {
    this.#flags = flags;
    this.#env = env;
    this.#solver = solver;
    this.#chat = chat;
    this.#onNotice = onNotice;
    this.#where = flags.sandbox;
  }

  /** @throws {ConfigError} before anything is opened. */
  static async open(
    flags: ChatFlags,
    { env }: Pick<CommandContext, 'env'>,
    onNotice: (text: string) => void,
  ): Promise<ChatHost> {
    const solver = await createSolver({ ...runOptions(flags, env), maxSessions: 1, onNotice });
    try {
      const { resume } = flags;
      const chat = solver.chat({ resume: resume === true ? 'latest' : resume });
      return new ChatHost(flags, env, { solver, chat, onNotice });
    } catch (error) {
      await solver.close();
      throw error;
    }
  }

  get chat(): Chat {
    return this.#chat;
  }

  /** As `--sandbox` has it. */
  get where(): string {
    return this.#where;
  }

  /** Takes up another stored conversation. Where that cannot be, this one goes on. */
  async resume(id: string): Promise<void> {
    const next = this.#solver.chat({ resume: id });
    await this.#chat.close();
    this.#chat = next;
  }

  /** Goes on with this conversation in another sandbox; variables do not come along. */
  async useSandbox(where: string): Promise<void> {
    const options = runOptions({ ...this.#flags, sandbox: where }, this.#env);
    const next = await createSolver({
      ...{ ...options, model: this.#chat.model },
      ...{ maxSessions: 1, onNotice: this.#onNotice },
    });
    const { id, turns } = this.#chat;
    await this[Symbol.asyncDispose]();
    this.#solver = next;
    this.#chat = next.chat(turns.length > 0 ? { resume: id } : {});
    this.#where = where;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#chat.close();
    } finally {
      await this.#solver.close();
    }
  }
}
