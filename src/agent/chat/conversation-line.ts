import { z } from 'zod';
import { ContentSchema } from '../../parts/content.js';
import { PartSchema } from '../../parts/part.js';

const Count = z.number().nonnegative();
const UsageSchema = z.object({
  promptTokenCount: Count,
  candidatesTokenCount: Count,
  thoughtsTokenCount: Count,
  totalTokenCount: Count,
  requests: Count,
});

const TurnStatusSchema = z.enum([
  ...['answered', 'step-limit', 'deadline', 'blocked', 'no-answer'],
  ...['ran', 'cancelled', 'failed'],
] as ['answered', 'step-limit', 'deadline', 'blocked', 'no-answer', 'ran', 'cancelled', 'failed']);
export type TurnStatus = z.infer<typeof TurnStatusSchema>;

/** Everything that happens to a conversation, one JSON object a line; applied in order they give its state. */
export const ConversationLineSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('conversation'),
    version: z.literal(1),
    id: z.string(),
    startedAt: z.string(),
  }),
  /** Attached, by its absolute path on this machine. */
  z.object({ type: z.literal('file'), path: z.string() }),
  /** A turn begins: the user asks the model something, or runs Python of their own. */
  z.object({
    type: z.literal('turn'),
    kind: z.enum(['prompt', 'python']),
    startedAt: z.string(),
    prompt: z.array(PartSchema),
  }),
  /** The turn goes on: its wire form from one content on, and what is shown further. */
  z.object({
    type: z.literal('progress'),
    from: Count.int(),
    wire: z.array(ContentSchema),
    shown: z.array(PartSchema),
  }),
  /** What the running script has printed further. */
  z.object({ type: z.literal('output'), id: z.string(), text: z.string() }),
  z.object({
    type: z.literal('turn-end'),
    status: TurnStatusSchema,
    reason: z.string().exactOptional(),
    usage: UsageSchema,
    steps: Count,
    executions: Count,
    durationMs: Count,
  }),
  /** The last turn is taken back. */
  z.object({ type: z.literal('undo') }),
  /** All turns are forgotten. */
  z.object({ type: z.literal('reset') }),
  /** The outputs of so many first turns go to the model in short. */
  z.object({ type: z.literal('shortened'), turns: Count.int() }),
  /** So many first turns go to the model as this summary. */
  z.object({
    type: z.literal('summary'),
    turns: Count.int(),
    text: z.string(),
    usage: UsageSchema,
  }),
]);

export type ConversationLine = z.infer<typeof ConversationLineSchema>;
