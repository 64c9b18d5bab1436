import assert from 'node:assert/strict';
import { writtenPaths } from '../../cli/job/init/written-files.js';

const PROGRAMS: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  'a file, by each mode that writes': [
    `open('a.json', 'w'); open("b.bin", mode="wb"); open('c.log', 'a'); gzip.open('d.gz', 'xt'); open('e', 'r+')`,
    ['a.json', 'b.bin', 'c.log', 'd.gz', 'e'],
  ],
  'not what it reads': [`open('data.txt'); open('x.bin', 'rb'); np.load('y.npy'); torch.load('z.pt'); f.read()`, []],
  'a name that is given once': [`CKPT = 'state.json'\nwith open(CKPT, 'w') as f:\n    f.write('1')`, ['state.json']],
  'not a name that means two things': [`p = 'a'\nif x:\n    p = 'b'\nopen(p, 'w')`, []],
  'the default of an option': [
    `parser.add_argument('--save-to', type=str, default='model.npz')\nargs = parser.parse_args()\nnp.savez(args.save_to, w=w)`,
    ['model.npz'],
  ],
  'the folder of a path': [
    `torch.save(model.state_dict(), 'runs/exp1/model.pt')\nPath('log').mkdir()`,
    ['runs', 'log'],
  ],
  'a pattern, of what is known at run time': [
    `torch.save(m, f'model-{step:05d}.pt'); torch.save(m, 'opt-%d.pt' % step); df.to_csv('part-{}.csv'.format(n))`,
    ['model-*.pt', 'opt-*.pt', 'part-*.csv'],
  ],
  'a joined path': [
    `open(os.path.join('weights', f'{i}.pt'), 'wb')\nOUT = Path('plots')\nplt.savefig(OUT / f'{i}.png')`,
    ['weights', 'plots'],
  ],
  'a file that is renamed when it is whole': [
    `with open('state.tmp', 'w') as f: f.write(s)\nos.replace('state.tmp', 'state.json')`,
    ['state.json'],
  ],
  'not the folder of its input': [`os.makedirs('data', exist_ok=True)\nopen('data/x.bin', 'wb')`, []],
  'what libraries are told': [
    `args = TrainingArguments(output_dir="./hf", num_train_epochs=3)\nSummaryWriter('tb')\nModelCheckpoint(dirpath='pl')`,
    ['tb', 'hf', 'pl'],
  ],
  'no path of others, and none that leads out': [
    `open('/tmp/x', 'w'); open('../y', 'w'); open('~/z', 'w'); df.to_csv('gs://b/o.csv'); open(f'{d}/x', 'w'); open('', 'w')`,
    [],
  ],
  'no comment, no text': [`# open('a', 'w')\nprint("open('b', 'w')")\nx = '''no'''`, []],
  'nothing that YAML or bash would read otherwise': [
    `open('a b', 'w'); open('c,d', 'w'); open('$e', 'w'); open('f]', 'w')`,
    [],
  ],
  'a call over several lines': [
    `json.dump(\n    state,\n    open(\n        "s.json",\n        "w",\n    ),\n)`,
    ['s.json'],
  ],
  'a text that begins with a constant': [
    `CKPT = 'ckpt'\nopen(f'{CKPT}/last.json', 'w').write('x')\ntorch.save({}, f"{CKPT}/last.pt")`,
    ['ckpt'],
  ],
  'one in a with': [`CKPT = 'ckpt'\nwith open(f'{CKPT}/last.json', 'w') as f: f.write('x')`, ['ckpt']],
  "one that begins with an option's default": [
    `p.add_argument('--out', default='runs'); args = p.parse_args()\ntorch.save({}, f"{args.out}/ckpt_{s:05d}.pt")`,
    ['runs'],
  ],
  'one with dest, added, given by name': [
    `p.add_argument('--ckpt-dir', '-c', dest='cd', default='weights'); a = p.parse_args()\ntorch.save(obj={}, f=a.cd + '/x.pt')`,
    ['weights'],
  ],
  "one that begins with a class's field": [
    `class C:\n    save_dir: str = 'snap'\nc = C()\ntorch.save({}, f"{c.save_dir}/m.pt")`,
    ['snap'],
  ],
  'a name made of names': [`OUT = 'runs'\nCKPT = f'{OUT}/ckpt'\nopen(CKPT + '/x', 'w')`, ['runs']],
  "what lies in the program's own folder": [
    `OUT = Path(__file__).parent / 'results'\ntorch.save({}, OUT / 'x.pt')\nHERE = os.path.dirname(os.path.abspath(__file__))\nopen(os.path.join(HERE, 'log', 'a'), 'w')\nopen(f'{os.getcwd()}/x', 'r')\n(Path(__file__).resolve().parent / 'b')`,
    ['results', 'log'],
  ],
  'a file that open gets by name': [`open(file='a.json', mode='w')`, ['a.json']],
};

const UNREAD: Readonly<Record<string, readonly [string, readonly number[]]>> = {
  'a name that a function gets': [`def save(path):\n    with open(path, 'w') as f:\n        f.write('x')`, [2]],
  'a text that begins with such a name': [
    `\n\nopen(f'{d}/x', 'w'); torch.save(m, f'{d}/y')\nopen(d + '/z', 'w')`,
    [3, 4],
  ],
  'a name that means two things': [`p = 'a'\nif x:\n    p = 'b'\nopen(p, 'w')`, [4]],
  'a joined one': [`open(os.path.join(d, 'x'), 'w')\n(d / 'x').write_text('')\nnp.save(d / 'x', w)`, [1, 3]],
  'none that is read, leads out, or is stored in any case': [
    `O = os.environ['JOBCTL_OUTPUT_DIR']\nopen(f'{O}/x', 'w')\nopen(os.path.join(os.environ["JOBCTL_OUTPUT_DIR"], 'y'), 'w')\nopen('/tmp/x', 'w')\nopen('a', 'w')\nopen(x)`,
    [],
  ],
};

describe('a line that writes to a name which cannot be read', () => {
  for (const [name, [text, wanted]] of Object.entries(UNREAD))
    it(name, () => assert.deepEqual(writtenPaths(text).unread, wanted));
});

describe('what a program seems to write', () => {
  for (const [name, [text, wanted]] of Object.entries(PROGRAMS))
    it(name, () => assert.deepEqual(writtenPaths(text).paths, wanted));

  it('is found in a text made to take long', () => {
    for (const piece of [
      'open(',
      "open('a', ",
      'a',
      '\n',
      ' ',
      '# ',
      "'",
      'a.',
      'x = (',
      'Path(',
      '=',
      'log_dir=',
      '\\',
      "open(f'{",
      "a + '",
      "x = f'{a}'\n",
    ])
      assert.ok(writtenPaths(piece.repeat(Math.floor(250_000 / piece.length))).paths.length <= 1, piece);
  });
});
