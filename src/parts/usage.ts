/** Token counts as in Gemini's `usageMetadata`, summed over requests. */
export interface Usage {
  promptTokenCount: number;
  candidatesTokenCount: number;
  thoughtsTokenCount: number;
  totalTokenCount: number;
  /** Requests sent to the model, failed ones included. */
  requests: number;
}
