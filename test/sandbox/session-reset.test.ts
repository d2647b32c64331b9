import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLocalSandbox } from '../../src/sandbox/local/local-sandbox.js';
import type { Sandbox } from '../../src/sandbox/sandbox.js';
import { SessionPool } from '../../src/sandbox/session-pool.js';

const limit = { timeoutMs: 60_000 };

let sandbox: Sandbox;
let pool: SessionPool;

beforeAll(async () => {
  sandbox = await openLocalSandbox({ env: process.env, isolation: 'none', allowNetwork: false });
  pool = new SessionPool(sandbox, { size: 1 });
});

afterAll(async () => {
  await pool.close();
  await sandbox.close();
});

/** Runs both scripts under leases of their own; gives what the second printed, and whether its session is the same. */
async function inTurn(dirt: string, look: string): Promise<{ seen: string; wasKept: boolean }> {
  const first = await underLease(dirt);
  const second = await underLease(look);
  return { seen: second.stdout.trim(), wasKept: first.session === second.session };
}

async function underLease(code: string): Promise<{ session: string; stdout: string }> {
  await using lease = await pool.lease();
  const result = await lease.session.execute(code, limit);
  expect(result.status, JSON.stringify(result)).toBe('ok');
  return { session: lease.session.name, stdout: result.stdout };
}

/** What a script finds where nothing was done before it. */
const RESET: readonly (readonly [kind: string, dirt: string, look: string, clean: string])[] = [
  [
    'names',
    'x = 1\nimport math\ndef f(): pass\nclass C: pass',
    'print([n for n in ("x", "math", "f", "C") if n in globals()])',
    '[]',
  ],
  [
    'names of IPython deleted',
    'del In, Out, get_ipython',
    'print("In" in globals(), "get_ipython" in globals())',
    'True True',
  ],
  ['results', '1 + 1', 'print(repr(_), Out, len(In))', "'' {} 2"],
  [
    'built-in names',
    'import builtins\nbuiltins.sorted = None\nbuiltins.extra = 1\ndel builtins.abs',
    'import builtins\nprint(sorted([2, 1]), abs(-1), hasattr(builtins, "extra"))',
    '[1, 2] 1 False',
  ],
  [
    'the working directory',
    'import os, tempfile\nos.chdir(tempfile.mkdtemp())',
    'import os\nprint(os.path.basename(os.getcwd()))',
    'content',
  ],
  [
    'environment variables',
    'import os\nos.environ["DIRT"] = "1"\nos.environ.pop("PATH")',
    'import os\nprint("DIRT" in os.environ, "PATH" in os.environ)',
    'False True',
  ],
  [
    'the time zone',
    'import os, time\nos.environ["TZ"] = "Asia/Tokyo"\ntime.tzset()',
    'import time\nprint("JST" in time.tzname)',
    'False',
  ],
  [
    'modules of its own',
    'import sys, os, tempfile\nplace = tempfile.mkdtemp("dirt")\nopen(os.path.join(place, "dirtymodule.py"), "w").write("v = 1")\nsys.path.insert(0, place)\nimport dirtymodule',
    'import sys\nprint("dirtymodule" in sys.modules, [p for p in sys.path if p.endswith("dirt")])',
    'False []',
  ],
  [
    'modules in the working directory',
    'import sys\nsys.path.insert(0, "")\nopen("besidemodule.py", "w").write("v = 1")\nimport besidemodule\nimport os\nos.remove("besidemodule.py")',
    'import sys\nprint("besidemodule" in sys.modules)',
    'False',
  ],
  [
    'modules taken away or made up',
    'import sys\ndel sys.modules["json"]\nsys.modules["made_up"] = type(sys)("made_up")',
    'import sys\nprint("json" in sys.modules, "made_up" in sys.modules)',
    'True False',
  ],
  [
    'functions of the standard library',
    'import time, random\ntime.sleep = lambda s: None\nrandom.random = lambda: 4',
    'import time, random\nprint(time.sleep.__name__, random.random() < 1)',
    'sleep True',
  ],
  [
    'figures and rcParams',
    'import matplotlib.pyplot as plt\nplt.rcParams["figure.figsize"] = (1, 1)\nplt.figure()\nplt.ioff()',
    'import matplotlib.pyplot as plt\nprint(plt.get_fignums(), list(plt.rcParams["figure.figsize"]), plt.isinteractive())',
    '[] [6.4, 4.8] True',
  ],
  [
    'the backend of matplotlib',
    'import matplotlib.pyplot as plt\nplt.switch_backend("agg")',
    'import matplotlib\nprint("inline" in matplotlib.get_backend())',
    'True',
  ],
  [
    'options of pandas',
    'import pandas as pd\npd.set_option("display.max_rows", 3)',
    'import pandas as pd\nprint(pd.get_option("display.max_rows"))',
    '60',
  ],
  [
    'settings of numpy',
    'import numpy as np\nnp.set_printoptions(precision=2)\nnp.seterr(all="raise")',
    'import numpy as np\nprint(np.array([1/3]), np.geterr()["divide"])',
    '[0.33333333] warn',
  ],
  [
    'random states',
    'import random, numpy as np\nrandom.seed(1)\nnp.random.seed(1)',
    'import random, numpy as np\nprint(random.random() == 0.13436424411240122, np.random.rand() == 0.417022004702574)',
    'False False',
  ],
  [
    'the decimal context',
    'import decimal\ndecimal.getcontext().prec = 3\ndecimal.DefaultContext.prec = 4',
    'import decimal\nprint(decimal.getcontext().prec, decimal.DefaultContext.prec)',
    '28 28',
  ],
  [
    'the recursion limit',
    'import sys\nsys.setrecursionlimit(500)',
    'import sys\nprint(sys.getrecursionlimit() > 900)',
    'True',
  ],
  [
    'the limit on digits',
    'import sys\nsys.set_int_max_str_digits(0)',
    'import sys\nprint(sys.get_int_max_str_digits())',
    '4300',
  ],
  [
    'warning filters',
    'import warnings\nwarnings.simplefilter("error")',
    'import warnings\nwarnings.warn("only a warning")\nprint("on")',
    'on',
  ],
  [
    'signal handlers and alarms',
    'import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.alarm(1000)',
    'import signal\nprint(signal.getsignal(signal.SIGTERM) is signal.SIG_IGN, signal.alarm(0))',
    'False 0',
  ],
  [
    'child processes',
    'import subprocess\nchild = subprocess.Popen(["sleep", "1000"])\nopen("child", "w").write(str(child.pid))',
    'import os\nprint(os.path.exists(f"/proc/{open(\'child\').read()}"))\nos.remove("child")',
    'False',
  ],
  [
    'output streams and display',
    'import sys, io\nsys.stdout = sys.stderr = io.StringIO()\nsys.displayhook = sys.excepthook = lambda *a: None',
    'import sys\nprint(type(sys.stdout).__name__.endswith("OutStream"))',
    'True',
  ],
  [
    'import hooks',
    'import sys\nclass Finder:\n    def find_spec(self, *a): raise ImportError("blocked")\nsys.meta_path.insert(0, Finder())',
    'import wave\nprint(wave.__name__)',
    'wave',
  ],
  [
    'trace functions',
    'import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)',
    'import sys\nprint(sys.getprofile())',
    'None',
  ],
  [
    'logging',
    'import logging\nlogging.basicConfig(level=10)\nlogging.disable(50)',
    'import logging\nprint(logging.getLogger().level, logging.root.manager.disable, len(logging.getLogger().handlers))',
    '30 0 0',
  ],
  [
    'the locale and the umask',
    'import locale, os\nlocale.setlocale(locale.LC_ALL, "C")\nos.umask(0)',
    'import os\nprint(os.umask(0o22) == 0)',
    'False',
  ],
  ['the garbage collector', 'import gc\ngc.disable()', 'import gc\nprint(gc.isenabled())', 'True'],
  [
    'settings of IPython',
    'get_ipython().ast_node_interactivity = "all"\nget_ipython().set_custom_exc((Exception,), lambda *a: None)\n%precision 2',
    'print(get_ipython().ast_node_interactivity, get_ipython().custom_exceptions)',
    'last_expr ()',
  ],
  [
    'hooks of IPython',
    'shell = get_ipython()\nshell.events.register("post_run_cell", lambda r: print("dirt"))\nclass Swap:\n    def visit(self, tree): return tree\nshell.ast_transformers.append(Swap())',
    'print([type(t).__name__ for t in get_ipython().ast_transformers])',
    "['SessionGuard']",
  ],
  [
    'built-in functions as hooks',
    'get_ipython().events.register("pre_execute", print)',
    'import builtins\nprint(print in get_ipython().events.callbacks["pre_execute"])',
    'False',
  ],
  [
    'imports from the future',
    'from __future__ import annotations',
    'try:\n    def f(x: undefined): pass\n    print("unread")\nexcept NameError: print("read")',
    'read',
  ],
  [
    'the precision of mpmath',
    'import sympy, mpmath\nmpmath.mp.dps = 50',
    'import mpmath\nprint(mpmath.mp.dps)',
    '15',
  ],
  [
    'settings of scikit-learn and SciPy',
    'import sklearn, scipy.special\nsklearn.set_config(transform_output="pandas")\nscipy.special.seterr(all="raise")',
    'import sklearn, scipy.special\nprint(sklearn.get_config()["transform_output"], set(scipy.special.geterr().values()))',
    "default {'ignore'}",
  ],
  [
    'a backend chosen before any chart',
    'import matplotlib\nmatplotlib.use("Agg")',
    'import matplotlib\nprint("inline" in matplotlib.get_backend())',
    'True',
  ],
  [
    'constants of the standard library',
    'import math, os, string\nmath.pi, os.sep, string.digits = 3, "x", ""',
    'import math, os, string\nprint(math.pi > 3, os.sep, string.digits)',
    'True / 0123456789',
  ],
  [
    'loggers with a name',
    'import logging\nlog = logging.getLogger("mine")\nlog.addHandler(logging.StreamHandler())\nlog.setLevel(1)\nlog.propagate = False',
    'import logging\nlog = logging.getLogger("mine")\nprint(log.handlers, log.level, log.propagate)',
    '[] 0 True',
  ],
  [
    'what watches the collector, coroutines and memory',
    'import gc, sys, tracemalloc\ngc.callbacks.append(print)\nsys.set_coroutine_origin_tracking_depth(3)\ntracemalloc.start()',
    'import gc, sys, tracemalloc\nprint(gc.callbacks, sys.get_coroutine_origin_tracking_depth(), tracemalloc.is_tracing())',
    '[] 0 False',
  ],
  [
    'the longest field of CSV',
    'import csv\ncsv.field_size_limit(5)',
    'import csv\nprint(csv.field_size_limit())',
    '131072',
  ],
  [
    'files left open',
    'file = open("left", "w")\nloop = [file]\nloop.append(loop)',
    'print(1)',
    '1',
  ],
];

describe('what a script leaves behind is gone for the next, in the same session:', () => {
  it.each(RESET)('%s', async (_kind, dirt, look, clean) => {
    const { seen, wasKept } = await inTurn(dirt, look);
    expect(seen).toBe(clean);
    expect(wasKept).toBe(true);
  });
});

/** Cannot be undone, or not be proved to be. */
const REPLACED: readonly (readonly [kind: string, dirt: string, look: string, clean: string])[] = [
  [
    'threads',
    'import threading\nstop = threading.Event()\nthreading.Thread(target=stop.wait, daemon=True).start()',
    'import threading\nprint([t for t in threading.enumerate() if "wait" in t.name])',
    '[]',
  ],
  [
    'patched libraries',
    'import numpy as np\nnp.mean = lambda *a: 42',
    'import numpy as np\nprint(float(np.mean([1, 2])))',
    '1.5',
  ],
  [
    'patched classes',
    'import json\njson.JSONEncoder.default = lambda *a: 42',
    'import json\ntry: print(json.dumps(object()))\nexcept TypeError: print("refused")',
    'refused',
  ],
  [
    'redirected descriptors',
    'import os\nos.dup2(os.open(os.devnull, os.O_WRONLY), 1)',
    'import os\nprint(os.path.samestat(os.fstat(1), os.stat(os.devnull)))',
    'False',
  ],
  [
    'lowered limits',
    'import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))',
    'import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE)[1] == 200)',
    'False',
  ],
  [
    'built-ins that nothing works without',
    'import builtins\nbuiltins.exec = builtins.eval = builtins.compile = None',
    'print("fresh")',
    'fresh',
  ],
  [
    'a transformer that swallows every cell',
    'get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\\n"])',
    'print("fresh")',
    'fresh',
  ],
  [
    'background tasks',
    'import asyncio\nasync def tick():\n    while True: await asyncio.sleep(1)\ntask = asyncio.get_event_loop().create_task(tick())',
    'import asyncio\nprint([t for t in asyncio.all_tasks() if "tick" in str(t)])',
    '[]',
  ],
  [
    'a listening socket',
    'import socket\nend = socket.socket()\nend.bind(("127.0.0.1", 0))\nend.listen()\nnumber = end.detach()',
    'print("fresh")',
    'fresh',
  ],
  [
    'a file that only the system knows to be open',
    'import os\nnumber = os.open("open", os.O_CREAT | os.O_RDWR)',
    'print("fresh")',
    'fresh',
  ],
  ['a removed baseline', 'del get_ipython().colab_session_baseline', 'print("fresh")', 'fresh'],
];

describe('what cannot be undone costs the session, never the next script:', () => {
  it.each(REPLACED)('%s', async (_kind, dirt, look, clean) => {
    const { seen, wasKept } = await inTurn(dirt, look);
    expect(seen).toBe(clean);
    expect(wasKept).toBe(false);
  });
});

describe('a reset session', () => {
  it('still draws charts, shows values and raises as a fresh one does', async () => {
    const { seen } = await inTurn('import matplotlib.pyplot as plt\nplt.plot([1, 2])', 'print(1)');
    expect(seen).toBe('1');
    await using lease = await pool.lease();
    const drawn = await lease.session.execute(
      'import matplotlib.pyplot as plt\nplt.plot([1, 2])',
      limit,
    );
    expect(drawn).toMatchObject({ status: 'ok' });
    expect(await lease.session.execute('6 * 7', limit)).toMatchObject({ value: '42' });
    expect(await lease.session.execute('1 / 0', limit)).toMatchObject({
      status: 'failed',
      error: { name: 'ZeroDivisionError' },
    });
  });
});
