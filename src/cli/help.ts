export const programHelp = `
Examples:
  colab-solver solve "How many primes are below one million?"
  colab-solver solve --file sales.csv --out-dir out "Plot the sales by month"
  colab-solver solve --sandbox colab --accelerator T4 "Which GPU is this?"
  colab-solver chat sales.csv
  colab-solver batch questions.jsonl --out results
  colab-solver grade results --grader-options '{"tolerance": 0.01}'
  colab-solver replay runs.jsonl --concurrency 2
  colab-solver doctor

Environment:
  GEMINI_API_KEY               the key for Gemini (or GOOGLE_API_KEY)
  GOOGLE_GEMINI_BASE_URL       where Gemini is, if not at Google
  COLAB_ACCESS_TOKEN           sign-in for --sandbox colab and <url>; else Application Default Credentials
  COLAB_MCP_URL                where --sandbox colab connects (default: Google's endpoint)
  GOOGLE_CLOUD_QUOTA_PROJECT   the project that calls to Colab count against
  COLAB_SOLVER_PYTHON          the Python interpreter for the local sandbox
  COLAB_SOLVER_HOME            where state is kept, such as the list of what runs have opened
  NO_COLOR, FORCE_COLOR        colour off or on

Exit codes:
  0  answered; batch: all samples ran, errored ones included; replay: all judged outputs are equal
  1  something failed
  2  wrong usage or configuration
  3  ended without an answer; batch: --fail-on-error or --max-cost was passed; replay: outputs differ
  130  cancelled

From a clone: npm start -- <command> [options]
`;

export const solveHelp = `
Examples:
  colab-solver solve "How many primes are below one million?"
  colab-solver solve --file sales.csv --out-dir out "Plot the sales by month as chart.png"
  echo "What is 17 factorial?" | colab-solver solve -
  colab-solver solve --json "Solve x^3 = x + 1" | jq -r .text
  colab-solver solve --model replay:runs.jsonl "a prompt of that file"     needs no key

Output:
  On a terminal the answer streams as it is written. Otherwise standard output gets the answer alone,
  when the run has ended. --json prints {status, text, contents, usage, files, steps, executions,
  durationMs, reason}; a file's path is null without --out-dir. --events prints one object a line; the
  last has the type run-end, or error {code, message, isRetryable} if the run broke.
  --notebook and --save write the whole run when it ends, also where it is cancelled or fails: .ipynb for
  Jupyter and Colab, .html and .md to read, .jsonl for replay and replay: models.
  GEMINI_API_KEY must be set, save for replay: models. Exit code 3 says that there is no answer.
`;

export const chatHelp = `
Examples:
  colab-solver chat sales.csv
  colab-solver chat --resume
  printf 'Let x = 6.\\nTimes 7?\\n' | colab-solver chat

On a terminal: /help lists the commands, Tab completes them and paths, @path attaches a file, \\ at the
end of a line goes on, a paste is one message. Ctrl-C stops a turn and leaves variables and the chat as
they are; twice on an empty line, or Ctrl-D, leaves. What is typed while something runs waits its turn.

From a pipe each line is a message, commands included; one that ends with \\ goes on with the next.
Answers and what commands show go to standard output, all else to standard error. The exit code is that
of the last message: 3 without an answer, 1 where it failed.

Conversations are stored as they go in COLAB_SOLVER_HOME/conversations, readable by you alone; files that
scripts made beside them, or in --out-dir.
`;

export const replayHelp = `
Equal means: the same outcome, and the same text apart from blanks at both ends, or the same number
(1e-6); for a script that failed, the same exception class where one is recorded. Warnings on
standard error may be new. Scripts without a recorded result run but are not judged.

The numbers of the final answer that scripts had printed are looked for in what they print now; --json
counts the answers in which all are found. What solve --notebook and --save wrote can be replayed: the
files that were attached must lie beside the file, or be named with --file.

Each line of the file is {"id", "prompt", "contents"} with contents in Gemini's form, executableCode
followed by codeExecutionResult. The file is read as it is needed, so its size does not matter.

Example:
  colab-solver replay runs.jsonl --concurrency 2 --execution-timeout 20
`;

export const serveHelp = `
Prints two lines, then serves until Ctrl-C:
  MCP endpoint: http://127.0.0.1:<port>/mcp
  Token: <token>

Connect with any MCP client (streamable HTTP, header "Authorization: Bearer <token>"), or from here:
  COLAB_ACCESS_TOKEN=<token> colab-solver solve --sandbox http://127.0.0.1:<port>/mcp "..."
`;

export const listHelp = `
Ours is what runs on this machine opened and have not closed; all else (a notebook, another machine's
runs) is not ours and is never touched. What no running process of ours uses was left behind.

--json prints {url, runtimes: [{name, isOurs, processId, variant, accelerator, shape, version,
sessions: [{name, isOurs, processId}]}]}; processId is null where no running process of ours uses it.

Examples:
  colab-solver sandbox list --sandbox colab
  COLAB_ACCESS_TOKEN=<token> colab-solver sandbox list --sandbox http://127.0.0.1:<port>/mcp
`;

export const specsHelp = `
The first column is what --accelerator takes. Several in order mean the first that can be had:
  colab-solver solve --sandbox colab --accelerator A100,L4:HIGHMEM,T4 "..."

Nothing is started, also with --sandbox local, which shows what this machine has. --json prints
{url, specs: [{name, variant, accelerator, shape, eligible}]}; eligible is what your account may have.
`;

export const cleanHelp = `
Only what runs on this machine opened, and whose process has gone, is closed; what running processes
use stays, and so do your notebooks. A runtime on which anybody has a session stays too, also with
--runtimes. Each run does the same for sessions, in the background, on the endpoint it uses.

Exit code 1 says that something could not be closed; the same command tries again.

Examples:
  colab-solver sandbox clean --sandbox colab
  colab-solver sandbox clean --sandbox colab --runtimes
`;

export const doctorHelp = `
Nothing is changed and no tokens are spent. Exit code 0 says that the local sandbox can run; what only
some uses need (a Gemini key, Colab sign-in, isolation) is reported but does not count.
`;

export const batchHelp = `
Samples are {"id"?, "prompt", "target"?, "grader"?, "options"?, "files"?, "metadata"?}, one JSON object a
line, a JSON list, or a table whose first line names these fields. All of them are looked at before
anything runs. Files are relative to the data set. Without a grader the target decides: a number is
compared as one, true and false as meant, a list as a list, an object as named values.

The folder holds run.json (what was asked), results.jsonl (one line for each finished sample; the truth)
and transcripts/runs.jsonl (recorded runs, which replay and --model replay: can read). A batch may be
killed at any time: the same command goes on, and does not run again what is finished. Ctrl-C lets running
samples finish for --grace seconds; a second one stops at once. A sample that fails is an error, not a
wrong answer. A quota by the day, or a refused key, ends the batch; the same command goes on later.

The number of samples at once begins with 4, grows to --concurrency while all is well, and falls when the
model's service asks for it.

Examples:
  colab-solver batch questions.jsonl --out results
  colab-solver batch math.csv --out results --prompt-field question --target-field answer
  colab-solver batch questions.jsonl --out try --limit 20 --shuffle --seed 1 --epochs 3
  colab-solver batch runs.jsonl --out again --model replay:runs.jsonl          needs no key
  colab-solver batch questions.jsonl --out results --json | jq .accuracy.value
`;

export const reportHelp = `
report.html is one page that needs no network: the figures, plots, and a table of all samples to search and
filter, each with its transcript, code and charts. It holds them compressed, so tens of thousands are no
burden; charts beyond 100 MB stay in transcripts/. batch and grade write both files at their end, too.

Examples:
  colab-solver report results
  colab-solver report results --compare results-of-the-other-model
`;

export const gradeHelp = `
Takes the answers from the transcripts of the folder. With another grader, or other options, the batch has
to be complete. Answers that could not be graded the last time are graded, too.

Examples:
  colab-solver grade results
  colab-solver grade results --grader-options '{"tolerance": 0.01}'
  colab-solver grade results --grader includes --json
`;
