export { createSolver, solve } from './solver.js';
export type { Solver, SolverOptions } from './solver.js';
export type { SolveOptions } from './agent/solve.js';
export type { Chat, ChatOptions, SendOptions } from './agent/chat/chat.js';
export type { ChatTurn } from './agent/chat/conversation-state.js';
export type { Variable, VariableList } from './agent/chat/variables.js';
export type { AttachedFile } from './agent/attached-file.js';
export type { RecordedRun } from './agent/recorded-run.js';
export type { BatchEvent, SampleName } from './batch/batch-event.js';
export type { BatchOptions } from './batch/batch-options.js';
export type { Accuracy, BatchStatus, BatchSummary } from './batch/batch-summary.js';
export type {
  Grader,
  GraderFault,
  GraderOptions,
  GradingContext,
  Judge,
  Verdict,
} from './batch/grader.js';
export type { FieldNames, Sample, SampleInput } from './batch/sample.js';
export type { SampleRecord, SampleStatus } from './batch/sample-record.js';
export type { Selection } from './batch/selection.js';
export type { Tally } from './batch/tally.js';
export { defineFunction } from './agent/caller-function.js';
export type { CallerFunction } from './agent/caller-function.js';
export type { ResultFile, RunEvent, RunStatus, SolveResult } from './agent/events.js';
export type {
  FunctionDeclaration,
  Model,
  ModelEvent,
  ModelRequest,
  ModelResponse,
} from './agent/model.js';
export {
  BatchError,
  ColabSolverError,
  ConfigError,
  InternalError,
  ModelError,
  SandboxError,
} from './errors.js';
export type {
  BatchErrorCode,
  ConfigErrorCode,
  ModelErrorCode,
  SandboxErrorCode,
} from './errors.js';
export type { LogLevel } from './logger.js';
export type { Content } from './parts/content.js';
export type { Notebook } from './parts/notebook-cell.js';
export type {
  CodeExecutionResult,
  ExecutableCode,
  FunctionCall,
  FunctionResponse,
  InlineData,
  Outcome,
  Part,
} from './parts/part.js';
export type { Usage } from './parts/usage.js';
export type {
  ExecutionResult,
  OutputChunk,
  PythonError,
  RichOutput,
  SandboxFile,
} from './sandbox/execution.js';
export type { ExecuteOptions, FileContent, Sandbox, Session } from './sandbox/sandbox.js';
